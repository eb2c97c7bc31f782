#pragma once
// Answers to the core's questions: checks, replays, placements, and post-mortems.

#include "tests/sim/cluster/cluster.h"
#include "tests/supervisor/preflight_facts.h"

namespace robustrun::sim {

// As agents answer and the shell combines it; some checks never end.
inline void Cluster::check_nodes(const core::CheckNodes& order) {
  core::NodesChecked result;
  result.check = order.check;
  result.full = order.full;
  for (const base::NodeId node : order.nodes) {
    core::NodeCheck check = core::test::healthy(node.value, nodes_[node.value].generation().value);
    if (strikes(Mishap::kWarned, node.value, scenario_.warned)) check.clock_ahead = hours(1);
    if (strikes(Mishap::kUnfit, node.value, scenario_.unfit)) check.facts.missing = "no script";
    if (node != order.nodes.front() && strikes(Mishap::kUnreached, node.value, scenario_.unfit)) {
      check.unreached.push_back(core::test::timeout_to(order.nodes.front().value));
    }
    result.nodes.push_back(std::move(check));
  }
  if (strikes(Mishap::kCheckLost, 0, scenario_.lost)) return;
  later(dice_.between(milliseconds(50), seconds(20)), [this, result] { tell({}, {}, result); });
}

// As the shell does it. One node is faulty, and so are groups with it; some are not tested, some
// replays never end, and the alignment test may name the wrong node.
inline void Cluster::replay_nodes(const core::ReplayNodes& order) {
  const base::NodeId faulty{static_cast<std::uint32_t>(scenario_.seed % 5)};
  core::NodesReplayed result{order.replay, seconds(30), {}};
  for (const auto& group : order.groups) {
    core::GroupReplayed one{core::GroupReplayed::Outcome::kPassed, {}, {}};
    for (const auto& place : group) {
      if (strikes(Mishap::kReplayFails, place.node.value, place.node == faulty ? 0.95 : 0.02)) {
        one.outcome = core::GroupReplayed::Outcome::kFailed;
        one.why = "exit code 1";
        if (scenario_.seed % 3 == 0) one.named = {faulty};
      }
      if (place.node.value >= nodes_.size()) continue;
      const bool counts = invariants_.groups().is_admitted(place.node);
      invariants_.replays_are_alone(!counts || !nodes_[place.node.value].anything_alive(), order);
    }
    const bool is_untested = strikes(Mishap::kUntested, 0, 0.08);
    if (is_untested) one = {core::GroupReplayed::Outcome::kUntested, {}, "lost"};
    result.groups.push_back(std::move(one));
  }
  if (order.groups.empty() || strikes(Mishap::kReplayNever, 0, 0.14)) return;
  later(seconds(30), [this, result] { tell({}, {}, result); });
}

// As the shell does it: nothing found, different calls, no answer, or too late.
inline void Cluster::look_back(const core::LookBack& question) {
  core::Diagnosed found{question.attempt, core::Diagnosed::Stage::kPostMortem, {}, {}};
  if (strikes(Mishap::kLookBackNever, 0, 0.25)) return;
  if (strikes(Mishap::kRanksDisagree, 0, 0.33)) {
    found.verdict.finding = tracer::Finding::kMismatch;
    found.verdict.sentence = "ranks disagree";
  }
  const bool is_late = strikes(Mishap::kLookBackLate, 0, 0.25);
  later(is_late ? seconds(3) : milliseconds(80), [this, found] { tell({}, {}, found); });
}

// As the shell does it, soon or too late; sometimes with an invalid answer.
inline void Cluster::place_nodes(const core::SolvePlacement& question) {
  core::PlacementSolved solved = placer_.solve(question);
  if (strikes(Mishap::kMisplaced, 0, scenario_.misplaced)) {
    std::vector<base::NodeId>& members = solved.members;
    const auto anybody = [this] {
      return base::NodeId{static_cast<std::uint32_t>(dice_.below(nodes_.size() + 1))};
    };
    if (members.empty() || dice_.chance(0.2)) members.push_back(anybody());
    members[dice_.below(members.size())] = anybody();
    if (dice_.chance(0.2)) members.pop_back();
  }
  if (strikes(Mishap::kNeverPlaced, 0, scenario_.never_placed)) return;
  const Nanos takes =
      dice_.chance(0.8) ? dice_.between({}, milliseconds(20)) : dice_.between({}, seconds(10));
  later(takes, [this, solved] { tell({}, {}, solved); });
}

}  // namespace robustrun::sim
