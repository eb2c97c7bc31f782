// From the faults of an attempt to the step before the next attempt: the policy's ladders.

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/core/words.h"
#include "supervisor/core/job/impl.h"
#include "supervisor/core/preflight/verdict.h"
#include "supervisor/core/types/exit_code.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
namespace {

using Agent = NodeState::Agent;

bool is_of_the_script(const Classification& looks) {
  return looks.layer == Layer::kUserCode || looks.layer == Layer::kData;
}

}  // namespace

// A finding about a machine shortly before the failure explains it, if nothing else does.
void Job::Impl::attribute() {
  if (!spec.policy.is_on() || !outage->looks_like) return;
  if (outage->nothing_failed()) return;
  const Classification& own = *outage->looks_like;
  const bool is_clear = own.confidence == Confidence::kHigh && !own.sequel;
  if (is_clear) return;
  const NodeState* newest = nullptr;
  for (const base::NodeId node : group) {
    const NodeState& one = at(node);
    if (!one.suspicion || one.suspected_at + spec.policy.suspected_for < now) continue;
    if (one.suspicion->confidence < own.confidence) continue;
    if (newest == nullptr || one.suspected_at > newest->suspected_at) newest = &one;
  }
  if (newest == nullptr) return;
  Classification looks = *newest->suspicion;
  looks.evidence += fmt::format(", {} before the end of the attempt",
                                base::duration_words(now - newest->suspected_at));
  outage->trace_to(std::move(looks),
                   {base::NodeId{static_cast<std::uint32_t>(newest - nodes.data())}});
}

Obstacle JobQuestions::eviction_obstacle(const std::vector<base::NodeId>& suspects,
                                         bool may_shrink) const {
  if (suspects.empty()) return {Obstacle::Kind::kNoSuspect};
  std::size_t left = nodes_there;
  for (auto node = suspects.begin(); node != suspects.end(); ++node) {
    const bool is_there = at(*node).agent == Agent::kJoined && at(*node).may_work();
    if (is_there && std::find(suspects.begin(), node, *node) == node) --left;
  }
  const std::size_t needed = may_shrink ? min_nodes() : group.size();
  if (left >= needed) return {};
  return {Obstacle::Kind::kTooFewMachines, left, needed};
}

Obstacles JobQuestions::obstacles() const {
  using Kind = Obstacle::Kind;
  Obstacles all;
  const auto of = [&all](Step step) -> Obstacle& { return all[static_cast<std::size_t>(step)]; };
  const Classification& looks = *outage->looks_like;
  if (is_of_the_script(looks)) {
    of(Step::kEvict) = {Kind::kNotTheMachine};
  } else if (!rather_waits()) {
    of(Step::kEvict) = eviction_obstacle(outage->nodes, is_of_the_machine(looks));
  }
  if (group.size() < 2) of(Step::kCheck) = {Kind::kNothingToCompare};
  of(Step::kReplay) =
      ReplayCourse::obstacle(group.size(), spec.policy.replay_unit, spec.replays_own_program);
  if (!can_roll_back()) {
    of(Step::kRollBack) = {versions.all.size() == 1 ? Kind::kNotUpdated
                           : versions.is_changing() ? Kind::kOtherVersionNext
                                                    : Kind::kNoOlderVersion};
  }
  return all;
}

// Whether too many recent failures were traced to one of these machines.
bool Job::Impl::is_blamed_too_often() {
  const Policy& policy = spec.policy;
  if (policy.blamed == 0 || is_of_the_script(*outage->looks_like)) return false;
  bool too_often = false;
  for (const base::NodeId node : outage->nodes) {
    too_often = count_recent(at(node).blamed, policy.blamed_within) >= policy.blamed || too_often;
  }
  return too_often;
}

StepChoice Job::Impl::next_step() {
  if (!spec.policy.is_on() || !outage->looks_like) return {};
  const bool too_often = is_blamed_too_often();
  if (is_surely_broken()) {
    count_recent(at(outage->nodes.front()).broken, spec.policy.blamed_within);
  }
  const bool are_out =
      !outage->nodes.empty() &&
      std::ranges::all_of(outage->nodes, [this](base::NodeId node) { return at(node).unfit; });
  if (are_out) return {};
  const Obstacles in_the_way = obstacles();
  if (too_often && !eviction_obstacle(outage->nodes, false)) return {Step::kEvict, {}};
  return escalation.choose(spec.policy, outage->looks_like->action, in_the_way);
}

void Job::Impl::take_step(Step step) {
  escalation.take(step);
  if (step == Step::kRollBack) return roll_back(outage->root.words);
  if (step == Step::kEvict) return evict(outage->nodes, *outage->looks_like);
  if (step == Step::kReplay) return want_replay();
  if (step != Step::kCheck) return;
  check_due = true;
  decide(Rule::kStopTimeCheck,
         fmt::format("the cause is not clear ({}): checking all nodes before the next start",
                     outage->looks_like->name));
}

// Machines that are evicted together are tested while the run goes on: a fit one comes back as a
// spare, at most kReturnsMax times.
void Job::Impl::evict(const std::vector<base::NodeId>& suspects, const Classification& looks) {
  std::vector<std::string> names;
  for (const base::NodeId node : suspects) {
    NodeState& evicted = at(node);
    set_presence(evicted, evicted.agent, true);
    evicted.trouble = looks.name;
    evicted.left_drained = false;
    evicted.on_probation = suspects.size() > 1 && evicted.returns < kReturnsMax;
    // A lost agent is not launched again: its successor would kill what that one still runs.
    if (evicted.agent == Agent::kLost) {
      out.push_back(DismissAgent{node, exit_code_for_infrastructure(spec.compat)});
    }
    evicted.retry_at = kNever;
    names.push_back(name(node));
  }
  std::string waits;
  if (group_formed && nodes_there < min_nodes()) {
    waits = fmt::format("; there is no spare: waiting up to {} for a node (--wait-for-nodes)",
                        base::in_seconds(spec.group.wait_for_nodes));
  }
  const std::string evicted = names_in_words(names);
  const bool is_one = names.size() == 1;
  out.push_back(Decision{
      Rule::kNodeEvicted,
      attempt,
      fmt::format("{} {} evicted{}: {}{}", evicted, is_one ? "is" : "are",
                  is_one ? "" : ", because any of them may be to blame", looks.name, waits),
      is_one ? std::vector<std::string>{} : std::move(names),
      {},
      {},
      suspects});
  if (!is_one) check_evicted(suspects);
}

}  // namespace robustrun::supervisor
