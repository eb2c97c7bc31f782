// R7b: in kernels with barriers (NCCL's symmetric kernels), a GPU's own work takes longer than that
// of the other members, again and again. The kernels as a whole take equally long, because the
// others wait at the barrier at the end, so R7 cannot see it.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/core/words.h"
#include "tracer/analysis/accuse.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/sentence.h"
#include "tracer/analysis/statistics.h"

namespace robustrun::tracer {
namespace {

struct SlowGpu {
  std::uint32_t at = 0;
  double own_ns = 0, usual_ns = 0;  // per operation
};

// The median own work of each member over the operations that all have timed; empty: too few.
std::vector<double> own_work(const Communicator& comm) {
  std::map<std::uint64_t, std::vector<double>> by_ordinal;
  for (std::size_t m = 0; m < comm.members.size(); ++m) {
    for (const Timing& timing : comm.members[m].view->timings) {
      std::vector<double>& row = by_ordinal[timing.ordinal];
      if (timing.own <= base::Nanos{} || row.size() != m) continue;
      row.push_back(static_cast<double>(timing.own.count()));
    }
  }
  std::erase_if(by_ordinal,
                [&](const auto& one) { return one.second.size() != comm.members.size(); });
  if (by_ordinal.size() < kTimingsLeast) return {};
  std::vector<double> own;
  for (std::size_t m = 0; m < comm.members.size(); ++m) {
    std::vector<double> times;
    for (const auto& [ordinal, row] : by_ordinal) times.push_back(row[m]);
    own.push_back(median(std::move(times)));
  }
  return own;
}

std::vector<SlowGpu> slow_in(const Communicator& comm) {
  if (comm.members.size() < 2 || comm.members.size() != comm.size) return {};
  const std::vector<double> own = own_work(comm);
  if (own.empty()) return {};
  const bool is_pair = own.size() == 2;
  const double usual = is_pair ? std::ranges::min(own) : median(own);
  const double spread = is_pair ? 0 : deviation(own);
  const double least = std::max(
      {static_cast<double>(kLeastOwnLost.count()), kLeastShareLost * usual, kDeviations * spread});
  std::vector<SlowGpu> slow;
  for (std::size_t m = 0; m < own.size(); ++m) {
    if (own[m] > usual + least) slow.push_back({comm.members[m].at, own[m], usual});
  }
  return slow;
}

std::string time_text(double ns) {
  return base::duration_words(base::Nanos(static_cast<std::int64_t>(ns)));
}

}  // namespace

std::optional<Verdict> rule_slow_gpu(const Case& facts) {
  std::vector<SlowGpu> worst;
  std::uint32_t where = 0;
  double most = 0;
  for (std::uint32_t c = 0; c < facts.view.comms().size(); ++c) {
    std::vector<SlowGpu> slow = slow_in(facts.view.comms()[c]);
    for (const SlowGpu& one : slow) {
      if (one.own_ns - one.usual_ns <= most) continue;
      most = one.own_ns - one.usual_ns;
      worst = slow;
      where = c;
    }
  }
  if (worst.empty()) return std::nullopt;
  std::vector<Blame> blames;
  for (const SlowGpu& one : worst) {
    Blame blame;
    blame.at = one.at;
    blame.comm = where;
    blames.push_back(blame);
  }
  const Communicator& comm = facts.view.comms()[where];
  Accusation made = accuse(facts, Finding::kSlowRank, blames);
  for (const Member& member : comm.members) {
    if (!std::ranges::binary_search(made.culprits, member.at)) made.victims.push_back(member.at);
  }
  Verdict& verdict = made.verdict;
  verdict.victims = global_ranks(facts.view, made.victims);
  verdict.confidence = comm.members.size() == 2 ? Confidence::kInferred : Confidence::kMajority;
  const SlowGpu& first = *std::ranges::max_element(worst, {}, &SlowGpu::own_ns);
  verdict.sentence = fmt::format(
      "{} {} slow: in each operation of {} {} works for {}, the others for {}", made.named,
      made.choose("is", "are"), group_text(facts.view, comm), made.choose("its GPU", "their GPU"),
      time_text(first.own_ns), time_text(first.usual_ns));
  return std::move(verdict);
}

}  // namespace robustrun::tracer
