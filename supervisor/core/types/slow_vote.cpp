#include "supervisor/core/types/slow_vote.h"

#include <algorithm>
#include <limits>

#include "base/core/result.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

// time * factor, at most the longest time that fits.
base::Nanos scaled(base::Nanos time, double factor) {
  const double count = static_cast<double>(time.count()) * factor;
  constexpr auto kMost = std::numeric_limits<std::int64_t>::max();
  return count >= static_cast<double>(kMost) ? base::Nanos::max()
                                             : base::Nanos(static_cast<std::int64_t>(count));
}

}  // namespace

void SlowVote::count(const std::vector<base::NodeId>& machines) {
  for (const base::NodeId node : machines) {
    const auto place = std::ranges::lower_bound(flags, node, {}, &SlowFlags::node);
    if (place != flags.end() && place->node == node) {
      ++place->rounds;
    } else {
      flags.insert(place, {node, 1});
    }
  }
}

std::vector<base::NodeId> SlowVote::majority(std::uint32_t rounds) const {
  std::vector<base::NodeId> nodes;
  for (const SlowFlags& one : flags) {
    if (std::uint64_t{2} * one.rounds > rounds) nodes.push_back(one.node);
  }
  return nodes;
}

std::uint32_t SlowVote::rounds_of(base::NodeId node) const {
  const auto found = std::ranges::find(flags, node, &SlowFlags::node);
  return found == flags.end() ? 0 : found->rounds;
}

bool SlowVote::has_recovered() const { return period <= scaled(usual, kPaceRecovered); }

void RestartPrices::note_failure(base::Nanos now) {
  if (began && !runs) return;  // one restart after another: one price
  began = now;
  runs = false;
}

void RestartPrices::note_first_step(base::Nanos reached, base::Nanos now) {
  if (!began || runs) return;
  runs = true;
  if (prices.size() == kRestartPricesKept) prices.erase(prices.begin());
  prices.push_back(std::clamp(reached, *began, std::max(*began, now)) - *began);
}

void RestartPrices::note_caught_up(base::Nanos reached, base::Nanos now) {
  if (!began || !runs || prices.empty()) return;
  const base::Nanos price = std::clamp(reached, *began, std::max(*began, now)) - *began;
  prices.back() = std::max(prices.back(), price);
  began.reset();
}

std::optional<base::Nanos> RestartPrices::median() const {
  if (prices.empty()) return std::nullopt;
  std::vector<base::Nanos> sorted = prices;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::ranges::nth_element(sorted, middle);
  return *middle;
}

SlowBalance weigh(base::Nanos usual, base::Nanos period, base::Nanos remaining, base::Nanos price) {
  RR_ASSERT(usual > base::Nanos{} && period > base::Nanos{});
  SlowBalance balance{0, remaining, {}, price};
  if (period <= usual) return balance;
  balance.lost = 1 - static_cast<double>(usual.count()) / static_cast<double>(period.count());
  balance.gain = scaled(remaining, balance.lost);
  return balance;
}

Remaining remaining_time(const JobSpec& spec, base::Nanos running_for,
                         std::optional<std::uint64_t> steps, base::Nanos ago, base::Nanos period) {
  Remaining least{spec.policy.slow.assumed_remaining, "assumed"};
  bool is_known = false;
  const auto know = [&](base::Nanos time, const char* because) {
    time = std::max(time, base::Nanos{});
    if (is_known && time >= least.time) return;
    is_known = true;
    least = {time, because};
  };
  if (spec.time_limit) know(*spec.time_limit - running_for, "--time-limit");
  if (spec.stop_after_steps && steps) {
    const std::uint64_t goal = *spec.stop_after_steps;
    const std::uint64_t left = goal > *steps ? goal - *steps : 0;
    know(scaled(period, static_cast<double>(left)) - ago, "--stop-after-steps");
  }
  return least;
}

}  // namespace robustrun::supervisor
