// Rule: a node must not be slow: more than kSlowFactor times the median in the first round, and
// again with a partner that was not slow. Of an even number of values the better one of the middle
// is the median, so that one of two nodes can be slow.

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "supervisor/core/preflight/verdict.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

// Medians of the first round, over the nodes that answered. 0: nothing was measured.
struct Usual {
  double compute_s = 0;
  double bytes_per_second = 0;
};

const Speed* round_of(const NodeCheck& node, std::uint32_t round) {
  const auto found = std::ranges::find(node.speeds, round, &Speed::round);
  return found == node.speeds.end() ? nullptr : &*found;
}

double seconds_of(const Speed& speed) {
  return std::max(0.0, std::chrono::duration<double>(speed.compute).count());
}

double rate_of(const Speed& speed) {
  const bool sane = std::isfinite(speed.bytes_per_second) && speed.bytes_per_second > 0;
  return sane ? speed.bytes_per_second : 0;
}

// Half of all are at least as good.
template <class Better>
double middle(std::vector<double> values, Better better) {
  if (values.empty()) return 0;
  std::ranges::sort(values, better);
  return values[(values.size() - 1) / 2];
}

Usual usual_of(const std::vector<NodeCheck>& nodes) {
  std::vector<double> times, rates;
  for (const NodeCheck& node : nodes) {
    const Speed* const first = node.answered ? round_of(node, 0) : nullptr;
    if (first == nullptr) continue;
    times.push_back(seconds_of(*first));
    rates.push_back(rate_of(*first));
  }
  return {middle(std::move(times), std::ranges::less{}),
          middle(std::move(rates), std::ranges::greater{})};
}

bool computes_slowly(const Speed& speed, const Usual& usual) {
  return usual.compute_s > 0 && seconds_of(speed) > kSlowFactor * usual.compute_s;
}

bool exchanges_slowly(const Speed& speed, const Usual& usual) {
  return usual.bytes_per_second > 0 && rate_of(speed) * kSlowFactor < usual.bytes_per_second;
}

bool is_slow(const Speed* speed, const Usual& usual) {
  return speed == nullptr || computes_slowly(*speed, usual) || exchanges_slowly(*speed, usual);
}

double slowness_of(const Speed* speed, const Usual& usual) {
  constexpr double kNoEnd = std::numeric_limits<double>::infinity();
  if (speed == nullptr) return kNoEnd;
  const double compute = usual.compute_s > 0 ? seconds_of(*speed) / usual.compute_s : 0;
  if (usual.bytes_per_second <= 0) return compute;
  const double rate = rate_of(*speed);
  return std::max(compute, rate > 0 ? usual.bytes_per_second / rate : kNoEnd);
}

std::string slowness_in_words(const Speed& speed, const Usual& usual) {
  std::string text;
  if (computes_slowly(speed, usual)) {
    text = fmt::format("it computes {:.2g} times as long as the median node",
                       seconds_of(speed) / usual.compute_s);
  }
  if (!exchanges_slowly(speed, usual)) return text;
  constexpr double kMega = 1e6;
  if (!text.empty()) text += ", and ";
  return text + fmt::format("it exchanges {:.4g} MB/s, the median node {:.4g} MB/s",
                            rate_of(speed) / kMega, usual.bytes_per_second / kMega);
}

}  // namespace

std::vector<std::uint32_t> slow_ones(const std::vector<NodeCheck>& nodes) {
  const Usual usual = usual_of(nodes);
  std::vector<std::uint32_t> slow;
  for (std::uint32_t place = 0; place < nodes.size(); ++place) {
    if (nodes[place].answered && is_slow(round_of(nodes[place], 0), usual)) slow.push_back(place);
  }
  return slow;
}

void judge_speed(Judgement& judgement) {
  const auto& nodes = judgement.checked.nodes;
  const bool measured = std::ranges::any_of(
      nodes, [](const NodeCheck& node) { return node.answered && !node.speeds.empty(); });
  if (!measured) return;
  const Usual usual = usual_of(nodes);
  for (const std::uint32_t place : slow_ones(nodes)) {
    const Speed* const again = round_of(nodes[place], 1);
    if (!is_slow(again, usual)) continue;
    judgement.verdicts[place].slowness = slowness_of(again, usual);
    judgement.add(
        place, Fitness::kSlow,
        "slow, with two partners: " + (again == nullptr ? "it did not finish its measurements"
                                                        : slowness_in_words(*again, usual)));
  }
}

}  // namespace robustrun::supervisor
