// R7: in operations that synchronise all members, every rank waits except the one that arrives
// last, whose durations are the shortest, again and again. No clocks are compared, only durations
// of the same operations. A rank that is late only because it waits for another rank in some other
// communicator is a victim there and is not named.

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/core/words.h"
#include "tracer/analysis/accuse.h"
#include "tracer/analysis/limits.h"
#include "tracer/analysis/sentence.h"
#include "tracer/analysis/statistics.h"

namespace robustrun::tracer {
namespace {

struct Slow {
  std::uint32_t at = 0;
  std::uint32_t comm = 0;
  double lost_ns = 0;   // the others' loss per operation
  double queued_ns = 0;  // more than the others between launch and start
  double gap_ns = 0;     // more than the others between two operations
};

double ns(base::Nanos t) { return static_cast<double>(t.count()); }

// Ordinals of the operations that synchronise all members.
std::set<std::uint64_t> synchronising(const Communicator& comm) {
  std::set<std::uint64_t> ordinals;
  for (const Past& past : comm.members.front().view->recent) {
    if (synchronises_all(past.signature.kind)) ordinals.insert(past.ordinal);
  }
  return ordinals;
}

// For each operation that all members have timed: the timings in the order of the members.
std::vector<std::vector<const Timing*>> common_timings(const Communicator& comm) {
  std::map<std::uint64_t, std::vector<const Timing*>> by_ordinal;
  const std::set<std::uint64_t> wanted = synchronising(comm);
  for (std::size_t m = 0; m < comm.members.size(); ++m) {
    for (const Timing& timing : comm.members[m].view->timings) {
      if (!wanted.contains(timing.ordinal)) continue;
      std::vector<const Timing*>& row = by_ordinal[timing.ordinal];
      if (row.size() == m) row.push_back(&timing);
    }
  }
  std::vector<std::vector<const Timing*>> common;
  for (auto& [ordinal, row] : by_ordinal) {
    if (row.size() == comm.members.size()) common.push_back(std::move(row));
  }
  return common;
}

double median_of(const std::vector<std::vector<const Timing*>>& rows, std::size_t member,
                 base::Nanos Timing::* field) {
  std::vector<double> numbers;
  for (const auto& row : rows) numbers.push_back(ns(row[member]->*field));
  return median(std::move(numbers));
}

// How long each member makes the others wait: the usual duration, which for two members is the
// longer one, minus its own.
std::vector<double> losses(const std::vector<double>& durations) {
  const double usual = durations.size() == 2 ? std::ranges::max(durations) : median(durations);
  std::vector<double> lost;
  for (const double duration : durations) lost.push_back(usual - duration);
  return lost;
}

std::vector<Slow> late_in(const Communicator& comm, std::uint32_t c) {
  const std::size_t members = comm.members.size();
  if (members < 2) return {};
  const std::vector<std::vector<const Timing*>> rows = common_timings(comm);
  if (rows.size() < kTimingsLeast) return {};
  std::vector<double> durations;
  std::vector<double> queued;
  std::vector<double> gaps;
  for (std::size_t m = 0; m < members; ++m) {
    durations.push_back(median_of(rows, m, &Timing::kernel));
    queued.push_back(median_of(rows, m, &Timing::queued));
    gaps.push_back(median_of(rows, m, &Timing::gap));
  }
  const double usual = members == 2 ? std::ranges::max(durations) : median(durations);
  const double spread = members == 2 ? 0 : deviation(durations);
  const double least = std::max({ns(kLeastLost), kLeastShareLost * usual, kDeviations * spread});
  const std::vector<double> lost = losses(durations);
  std::vector<Slow> late;
  for (std::size_t m = 0; m < members; ++m) {
    if (lost[m] <= least) continue;
    late.push_back(
        {comm.members[m].at, c, lost[m], queued[m] - median(queued), gaps[m] - median(gaps)});
  }
  return late;
}

// Whether the rank waits for a late rank in another communicator.
bool is_victim(const Case& facts, const Slow& one, const std::vector<std::vector<Slow>>& late) {
  for (const MemberAt where : facts.view.memberships(one.at)) {
    const std::vector<Slow>& others = late[where.comm];
    const auto is_self = [&](const Slow& l) { return l.at == one.at; };
    if (!others.empty() && std::ranges::none_of(others, is_self)) return true;
  }
  return false;
}

std::string_view cause_of(const Slow& late) {
  if (late.queued_ns > late.lost_ns / 2) return ", because its GPU lags";
  if (late.gap_ns > late.lost_ns / 2) return ", because its host calls late";
  return "";
}

}  // namespace

std::optional<Verdict> rule_slow_rank(const Case& facts) {
  std::vector<std::vector<Slow>> late;
  for (std::uint32_t c = 0; c < facts.view.comms().size(); ++c) {
    late.push_back(late_in(facts.view.comms()[c], c));
  }
  std::map<std::uint32_t, Slow> worst;  // by rank
  double most = 0;
  for (const std::vector<Slow>& group : late) {
    for (const Slow& one : group) {
      if (is_victim(facts, one, late)) continue;
      const auto [row, is_new] = worst.emplace(one.at, one);
      if (!is_new && one.lost_ns > row->second.lost_ns) row->second = one;
      most = std::max(most, one.lost_ns);
    }
  }
  std::vector<Blame> blames;
  const Slow* first = nullptr;
  for (const auto& [at, one] : worst) {
    if (one.lost_ns * 2 < most) continue;
    if (first == nullptr || one.lost_ns > first->lost_ns) first = &one;
    Blame blame;
    blame.at = at;
    blame.comm = one.comm;
    blames.push_back(blame);
  }
  if (first == nullptr) return std::nullopt;
  Accusation made = accuse(facts, Finding::kSlowRank, blames);
  Verdict& verdict = made.verdict;
  const Communicator& comm = facts.view.comms()[first->comm];
  for (const Member& member : comm.members) {
    if (!std::ranges::binary_search(made.culprits, member.at)) made.victims.push_back(member.at);
  }
  std::ranges::sort(made.victims);
  made.victims.erase(std::ranges::unique(made.victims).begin(), made.victims.end());
  verdict.victims = global_ranks(facts.view, made.victims);
  if (verdict.confidence == Confidence::kExact) verdict.confidence = Confidence::kMajority;
  if (comm.members.size() == 2) verdict.confidence = Confidence::kInferred;
  const auto lost = base::Nanos(static_cast<std::int64_t>(first->lost_ns));
  verdict.sentence = fmt::format("{} {} slow: the others in {} wait {} in each operation for {}{}",
                                 made.named, made.choose("is", "are"), group_text(facts.view, comm),
                                 base::rough_duration_words(lost), made.choose("it", "them"),
                                 made.is_plural() ? "" : cause_of(*first)) +
                     whereabouts_text(facts, made);
  return verdict;
}

}  // namespace robustrun::tracer
