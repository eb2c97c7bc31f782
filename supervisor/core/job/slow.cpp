// A machine that slows the others down: it is voted on, weighed, and replaced if that is worth a
// restart. From the first verdict to the restart:
//
//   verdict → a round every `every` → named in most of them? → worth its price, a spare there? →
//   drain_within passes → workers are asked to save, and stopped → eviction → restart, not counted
//
// A look that finds the job as fast as before ends the vote. The next vote begins with the next
// verdict that is reported: with other culprits, or with the same ones after the job had recovered.
// A machine that stays is reported once in an attempt.

#include <fmt/core.h>

#include <algorithm>
#include <csignal>
#include <utility>

#include "base/core/words.h"
#include "supervisor/core/job/copy_orders.h"
#include "supervisor/core/job/impl.h"
#include "supervisor/core/preflight/verdict.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

using SlowPhase = SlowVote::Phase;

// Machines that a verdict names. None when it names all of them, which singles out nothing.
std::vector<base::NodeId> named_by(const tracer::Verdict& verdict, const JobMemory& job) {
  using tracer::Finding;
  std::vector<base::NodeId> nodes;
  if (verdict.finding == Finding::kNothing || verdict.finding == Finding::kUndecided ||
      verdict.finding == Finding::kLongPhase) {
    return nodes;
  }
  const auto add = [&](base::Rank rank) {
    if (rank.value >= job.plan.world_size()) return;
    const base::NodeId node = job.plan.node_of[rank.value];
    if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
  };
  for (const base::Rank rank : verdict.culprits) add(rank);
  if (verdict.culprits.empty()) {
    for (const tracer::Edge& edge : verdict.edges) {
      add(edge.from);
      add(edge.to);
    }
  }
  if (nodes.size() >= job.group.size()) nodes.clear();
  std::ranges::sort(nodes);
  return nodes;
}

std::string names_of(const std::vector<base::NodeId>& nodes, const JobMemory& job) {
  std::vector<std::string> names;
  for (const base::NodeId node : nodes) names.push_back(job.name(node));
  return names_in_words(names);
}

// "n3 slows the job down (named in 4 of 5 looks)"
std::string accusation(const JobMemory& job) {
  std::uint32_t least = job.vote.asked;
  for (const base::NodeId node : job.vote.named) least = std::min(least, job.vote.rounds_of(node));
  return fmt::format("{} {} the job down (named in {} of {} looks)", names_of(job.vote.named, job),
                     job.vote.named.size() == 1 ? "slows" : "slow", least,
                     job.spec.policy.slow.rounds);
}

std::string pace_in_words(const SlowVote& now) {
  return fmt::format("steps take {}, {} before", base::duration_words(now.period),
                     base::duration_words(now.usual));
}

// "n1 was named in 2 of 5 looks", a line for each machine that was named.
std::vector<std::string> tally(const JobMemory& job) {
  Evidence lines;
  for (const SlowFlags& one : job.vote.flags) {
    lines.add(fmt::format("{} was named in {} of {} looks", job.name(one.node), one.rounds,
                          job.spec.policy.slow.rounds));
  }
  return lines.lines();
}

}  // namespace

// The verdict that has just been reported is the first round.
std::string Job::Impl::begin_vote(const Diagnosed& what) {
  const SlowPolicy& policy = spec.policy.slow;
  if (vote.phase != SlowPhase::kClosed || !spec.policy.is_on() || policy.rounds == 0) return {};
  if (what.usual <= base::Nanos{} || what.period <= what.usual || group.size() < 2) return {};
  const std::vector<base::NodeId> named = named_by(what.verdict, *this);
  if (named.empty()) return {};
  SlowVote fresh;
  fresh.phase = SlowPhase::kVoting;
  fresh.asked = fresh.heard = 1;
  fresh.usual = what.usual;
  fresh.period = what.period;
  fresh.sentence = what.verdict.sentence;
  fresh.kept = std::move(vote.kept);
  vote = std::move(fresh);
  vote.count(named);
  set_timer(TimerId::kSlow, now + policy.every);
  return fmt::format("{}: {} looks, one every {}, decide whether a machine is replaced",
                     pace_in_words(vote), policy.rounds, base::duration_words(policy.every));
}

void Job::Impl::slow_timer(const Event&) {
  const SlowPolicy& policy = spec.policy.slow;
  if (vote.phase == SlowPhase::kDraining) {
    if (now >= vote.drain_at) return replace_slow();
    out.push_back(LookAtPace{attempt});
    return set_timer(TimerId::kSlow, std::min(now + policy.every, vote.drain_at));
  }
  // The last look was not answered in time, or it was the only one.
  if (vote.asked >= policy.rounds) return end_vote();
  ++vote.asked;
  out.push_back(LookAtPace{attempt});
  set_timer(TimerId::kSlow, now + policy.every);
}

void Job::Impl::hear_round(const Diagnosed& what) {
  if (vote.phase == SlowPhase::kClosed) return;
  if (what.period > base::Nanos{}) vote.period = what.period;
  if (vote.has_recovered()) {
    live_timers[static_cast<std::size_t>(TimerId::kSlow)] = 0;
    vote.phase = SlowPhase::kClosed;
    return decide(Rule::kSlowOver, pace_in_words(vote) + ": no machine is replaced", tally(*this));
  }
  if (vote.phase != SlowPhase::kVoting || vote.heard >= vote.asked) return;
  ++vote.heard;
  const std::vector<base::NodeId> named = named_by(what.verdict, *this);
  if (!named.empty()) vote.sentence = what.verdict.sentence;
  vote.count(named);
  if (vote.heard >= spec.policy.slow.rounds) end_vote();
}

// Why the machines that the vote named cannot be replaced.
Obstacle JobQuestions::replacement_obstacle() const {
  if (succeeded_workers > 0) return {Obstacle::Kind::kWorkersFinished};
  return eviction_obstacle(vote.named, false);
}

void Job::Impl::end_vote() {
  const SlowPolicy& policy = spec.policy.slow;
  live_timers[static_cast<std::size_t>(TimerId::kSlow)] = 0;
  vote.phase = SlowPhase::kClosed;
  vote.named = vote.majority(policy.rounds);
  if (vote.named.empty()) {
    return decide(Rule::kSlowUnclear,
                  fmt::format("{}, and no machine is replaced: none was named in more than half of "
                              "{} looks",
                              pace_in_words(vote), policy.rounds),
                  tally(*this));
  }
  const std::optional<base::Nanos> median = prices.median();
  const Remaining left =
      remaining_time(spec, now - started_at, steps_done, now - steps_done_at, vote.period);
  const SlowBalance balance =
      weigh(vote.usual, vote.period, left.time, median.value_or(policy.assumed_price));
  std::vector<std::string> evidence = {
      vote.sentence,
      fmt::format("{}: {:.0f} % of the time is lost", pace_in_words(vote), 100 * balance.lost),
      fmt::format("{} of the job are left ({})", base::duration_words(left.time), left.because),
      median ? fmt::format("a restart costs {} (median of {} of this run)",
                           base::duration_words(*median), prices.prices.size())
             : fmt::format("a restart costs {} (assumed: this run had none)",
                           base::duration_words(policy.assumed_price))};
  for (std::string& line : tally(*this)) evidence.push_back(std::move(line));
  const std::string costs =
      fmt::format("a restart without {} costs {} and would gain {}", names_of(vote.named, *this),
                  base::duration_words(balance.price), base::duration_words(balance.gain));
  const Obstacle obstacle = replacement_obstacle();
  if (!balance.is_worth_it() || obstacle) {
    if (vote.named == vote.kept) return;
    vote.kept = vote.named;
    return decide(
        Rule::kSlowKept,
        fmt::format("{} and {}: {}{}", accusation(*this), vote.named.size() == 1 ? "stays" : "stay",
                    costs, obstacle ? "; " + in_words(obstacle) : std::string()),
        std::move(evidence));
  }
  vote.phase = SlowPhase::kDraining;
  vote.drain_at = now + policy.drain_within;
  decide(Rule::kSlowDrain,
         fmt::format("{} and {} replaced in {} unless the job recovers by then; {}",
                     accusation(*this), vote.named.size() == 1 ? "is" : "are",
                     base::duration_words(policy.drain_within), costs),
         std::move(evidence),
         {"replace at a checkpoint: scripts do not say when they save; workers hear \"preempt\" "
          "before they are stopped, and may save then"});
  set_timer(TimerId::kSlow, std::min(now + policy.every, vote.drain_at));
}

// While some rank has no copy elsewhere, the machine that is replaced may hold the only one.
bool Job::Impl::waits_for_copies() {
  const std::string lack = unsecured_in_words(copies);
  if (lack.empty()) return false;
  const std::string names = names_of(vote.named, *this);
  if (!vote.unsecured_until) {
    vote.unsecured_until = now + kUnsecuredMax;
    decide(Rule::kCopiesAwaited,
           fmt::format("{} {} not replaced yet: {}; waiting for one, at most {}", names,
                       vote.named.size() == 1 ? "is" : "are", lack,
                       base::duration_words(kUnsecuredMax)));
  }
  if (now < *vote.unsecured_until) return true;
  decide(Rule::kCopiesAwaited, fmt::format("{} {} replaced all the same: {}, after {}", names,
                                           vote.named.size() == 1 ? "is" : "are", lack,
                                           base::duration_words(kUnsecuredMax)));
  return false;
}

void Job::Impl::replace_slow() {
  if (waits_for_copies()) {
    return set_timer(TimerId::kSlow, std::min(now + kUnsecuredLook, *vote.unsecured_until));
  }
  vote.phase = SlowPhase::kClosed;
  if (const Obstacle obstacle = replacement_obstacle()) {
    vote.kept = vote.named;
    return decide(Rule::kSlowKept,
                  fmt::format("{} and {} after all: {}", accusation(*this),
                              vote.named.size() == 1 ? "stays" : "stay", in_words(obstacle)));
  }
  Fault fault =
      infrastructure_fault(Rule::kSlowEvicted,
                           fmt::format("{}: stopping all workers, to go on without {}",
                                       accusation(*this), vote.named.size() == 1 ? "it" : "them"),
                           context(vote.named.front()));
  fault.looks_like = classify_finding("slow", fmt::format("\"{}\"", vote.sentence), spec.faults);
  fault.nodes = vote.named;
  break_down(std::move(fault));
}

}  // namespace robustrun::supervisor
