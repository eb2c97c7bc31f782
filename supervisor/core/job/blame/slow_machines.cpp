#include "supervisor/core/job/blame/slow_machines.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/core/words.h"
#include "supervisor/core/fault/fault_class.h"
#include "supervisor/core/preflight/verdict.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

using SlowPhase = SlowVote::Phase;

std::string pace_in_words(const SlowVote& vote) {
  return fmt::format("steps take {}, {} before", base::duration_words(vote.period),
                     base::duration_words(vote.usual));
}

}  // namespace

std::vector<base::NodeId> SlowMachines::named_by(const tracer::Verdict& verdict) const {
  using tracer::Finding;
  std::vector<base::NodeId> nodes;
  if (verdict.finding == Finding::kNothing || verdict.finding == Finding::kUndecided ||
      verdict.finding == Finding::kLongPhase) {
    return nodes;
  }
  const auto add = [&](base::Rank rank) {
    if (rank.value >= group_.plan().world_size()) return;
    const base::NodeId node = group_.plan().node_of[rank.value];
    if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
  };
  for (const base::Rank rank : verdict.culprits) add(rank);
  if (verdict.culprits.empty()) {
    for (const tracer::Edge& edge : verdict.edges) {
      add(edge.from);
      add(edge.to);
    }
  }
  if (nodes.size() >= group_.size()) nodes.clear();
  std::ranges::sort(nodes);
  return nodes;
}

std::string SlowMachines::names_of(const std::vector<base::NodeId>& nodes) const {
  std::vector<std::string> names;
  for (const base::NodeId node : nodes) names.push_back(nodes_.name(node));
  return names_in_words(names);
}

// "n3 slows the job down (named in 4 of 5 looks)"
std::string SlowMachines::accusation() const {
  std::uint32_t least = vote_.asked;
  for (const base::NodeId node : vote_.named) least = std::min(least, vote_.rounds_of(node));
  return fmt::format("{} {} the job down (named in {} of {} looks)", names_of(vote_.named),
                     vote_.named.size() == 1 ? "slows" : "slow", least,
                     run_.spec.policy.slow.rounds);
}

// "n1 was named in 2 of 5 looks", a line for each machine that was named.
std::vector<std::string> SlowMachines::tally() const {
  Evidence lines;
  for (const SlowFlags& one : vote_.flags) {
    lines.add(fmt::format("{} was named in {} of {} looks", nodes_.name(one.node), one.rounds,
                          run_.spec.policy.slow.rounds));
  }
  return lines.lines();
}

// The verdict that has just been reported is the first round.
std::string SlowMachines::begin_vote(const Diagnosed& what) {
  const SlowPolicy& policy = run_.spec.policy.slow;
  if (vote_.phase != SlowPhase::kClosed || !run_.spec.policy.is_on() || policy.rounds == 0)
    return {};
  if (what.usual <= base::Nanos{} || what.period <= what.usual || group_.size() < 2) return {};
  const std::vector<base::NodeId> named = named_by(what.verdict);
  if (named.empty()) return {};
  SlowVote fresh;
  fresh.phase = SlowPhase::kVoting;
  fresh.asked = fresh.heard = 1;
  fresh.usual = what.usual;
  fresh.period = what.period;
  fresh.sentence = what.verdict.sentence;
  fresh.kept = std::move(vote_.kept);
  vote_ = std::move(fresh);
  vote_.count(named);
  orders_.set_timer(TimerId::kSlow, orders_.now() + policy.every);
  return fmt::format("{}: {} looks, one every {}, decide whether a machine is replaced",
                     pace_in_words(vote_), policy.rounds, base::duration_words(policy.every));
}

void SlowMachines::timer(const Event&) {
  const SlowPolicy& policy = run_.spec.policy.slow;
  if (vote_.phase == SlowPhase::kDraining) {
    if (orders_.now() >= vote_.drain_at) return replace();
    orders_.give(LookAtPace{orders_.attempt()});
    return orders_.set_timer(TimerId::kSlow,
                             std::min(orders_.now() + policy.every, vote_.drain_at));
  }
  // The last look was not answered in time, or it was the only one.
  if (vote_.asked >= policy.rounds) return end_vote();
  ++vote_.asked;
  orders_.give(LookAtPace{orders_.attempt()});
  orders_.set_timer(TimerId::kSlow, orders_.now() + policy.every);
}

void SlowMachines::hear_round(const Diagnosed& what) {
  if (vote_.phase == SlowPhase::kClosed) return;
  if (what.period > base::Nanos{}) vote_.period = what.period;
  if (vote_.has_recovered()) {
    orders_.cancel(TimerId::kSlow);
    vote_.phase = SlowPhase::kClosed;
    return orders_.decide(Rule::kSlowOver, pace_in_words(vote_) + ": no machine is replaced",
                          tally());
  }
  if (vote_.phase != SlowPhase::kVoting || vote_.heard >= vote_.asked) return;
  ++vote_.heard;
  const std::vector<base::NodeId> named = named_by(what.verdict);
  if (!named.empty()) vote_.sentence = what.verdict.sentence;
  vote_.count(named);
  if (vote_.heard >= run_.spec.policy.slow.rounds) end_vote();
}

// A vote that is open hears it from its next look, and says so itself.
void SlowMachines::pass(const std::string& what) {
  if (vote_.phase != SlowPhase::kClosed) return;
  orders_.decide(Rule::kSlowOver, "steps are as fast as before", {what});
}

// Why the machines that the vote named cannot be replaced.
Obstacle SlowMachines::replacement_obstacle() const {
  if (workers_.succeeded() > 0) return {Obstacle::Kind::kWorkersFinished};
  return evictions_.obstacle(vote_.named, false);
}

void SlowMachines::end_vote() {
  const SlowPolicy& policy = run_.spec.policy.slow;
  orders_.cancel(TimerId::kSlow);
  vote_.phase = SlowPhase::kClosed;
  vote_.named = vote_.majority(policy.rounds);
  if (vote_.named.empty()) {
    return orders_.decide(
        Rule::kSlowUnclear,
        fmt::format("{}, and no machine is replaced: none was named in more than half of "
                    "{} looks",
                    pace_in_words(vote_), policy.rounds),
        tally());
  }
  const std::optional<base::Nanos> median = prices_.median();
  const Remaining left =
      remaining_time(run_.spec, orders_.now() - run_.started_at, progress_.steps_done,
                     orders_.now() - progress_.steps_done_at, vote_.period);
  const SlowBalance balance =
      weigh(vote_.usual, vote_.period, left.time, median.value_or(policy.assumed_price));
  std::vector<std::string> evidence = {
      vote_.sentence,
      fmt::format("{}: {:.0f} % of the time is lost", pace_in_words(vote_), 100 * balance.lost),
      fmt::format("{} of the job are left ({})", base::duration_words(left.time), left.because),
      median ? fmt::format("a restart costs {} (median of {} of this run)",
                           base::duration_words(*median), prices_.prices.size())
             : fmt::format("a restart costs {} (assumed: this run had none)",
                           base::duration_words(policy.assumed_price))};
  for (std::string& line : tally()) evidence.push_back(std::move(line));
  const std::string costs =
      fmt::format("a restart without {} costs {} and would gain {}", names_of(vote_.named),
                  base::duration_words(balance.price), base::duration_words(balance.gain));
  const Obstacle obstacle = replacement_obstacle();
  if (!balance.is_worth_it() || obstacle) {
    if (vote_.named == vote_.kept) return;
    vote_.kept = vote_.named;
    return orders_.decide(
        Rule::kSlowKept,
        fmt::format("{} and {}: {}{}", accusation(), vote_.named.size() == 1 ? "stays" : "stay",
                    costs, obstacle ? "; " + in_words(obstacle) : std::string()),
        std::move(evidence));
  }
  vote_.phase = SlowPhase::kDraining;
  vote_.drain_at = orders_.now() + policy.drain_within;
  orders_.decide(
      Rule::kSlowDrain,
      fmt::format("{} and {} replaced in {} unless the job recovers by then; {}", accusation(),
                  vote_.named.size() == 1 ? "is" : "are", base::duration_words(policy.drain_within),
                  costs),
      std::move(evidence),
      {"replace at a checkpoint: scripts do not say when they save; workers hear \"preempt\" "
       "before they are stopped, and may save then"});
  orders_.set_timer(TimerId::kSlow, std::min(orders_.now() + policy.every, vote_.drain_at));
}

// While some rank has no copy elsewhere, the machine that is replaced may hold the only one.
bool SlowMachines::waits_for_copies() {
  const std::string lack = copies_.unsecured_in_words();
  if (lack.empty()) return false;
  const std::string names = names_of(vote_.named);
  if (!vote_.unsecured_until) {
    vote_.unsecured_until = orders_.now() + kUnsecuredMax;
    orders_.decide(Rule::kCopiesAwaited,
                   fmt::format("{} {} not replaced yet: {}; waiting for one, at most {}", names,
                               vote_.named.size() == 1 ? "is" : "are", lack,
                               base::duration_words(kUnsecuredMax)));
  }
  if (orders_.now() < *vote_.unsecured_until) return true;
  orders_.decide(Rule::kCopiesAwaited, fmt::format("{} {} replaced all the same: {}, after {}",
                                                   names, vote_.named.size() == 1 ? "is" : "are",
                                                   lack, base::duration_words(kUnsecuredMax)));
  return false;
}

void SlowMachines::replace() {
  if (waits_for_copies()) {
    return orders_.set_timer(TimerId::kSlow,
                             std::min(orders_.now() + kUnsecuredLook, *vote_.unsecured_until));
  }
  vote_.phase = SlowPhase::kClosed;
  if (const Obstacle obstacle = replacement_obstacle()) {
    vote_.kept = vote_.named;
    return orders_.decide(Rule::kSlowKept, fmt::format("{} and {} after all: {}", accusation(),
                                                       vote_.named.size() == 1 ? "stays" : "stay",
                                                       in_words(obstacle)));
  }
  Fault fault =
      infrastructure_fault(Rule::kSlowEvicted,
                           fmt::format("{}: stopping all workers, to go on without {}",
                                       accusation(), vote_.named.size() == 1 ? "it" : "them"),
                           moves_.context(vote_.named.front()));
  fault.looks_like =
      classify_finding("slow", fmt::format("\"{}\"", vote_.sentence), run_.spec.faults);
  fault.nodes = vote_.named;
  moves_.break_down(std::move(fault));
}

}  // namespace robustrun::supervisor
