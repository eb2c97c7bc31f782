#pragma once
// What the core's questions are answered with: checks, replays, places, and looks back.

#include "tests/sim/cluster.h"
#include "tests/supervisor/preflight_facts.h"

namespace robustrun::sim {

// As agents answer and the shell puts it together; some checks never end.
inline void Cluster::check_nodes(const core::CheckNodes& order) {
  core::NodesChecked result;
  result.check = order.check;
  result.full = order.full;
  for (const base::NodeId node : order.nodes) {
    core::NodeCheck check = core::test::healthy(node.value, nodes_[node.value].generation().value);
    if (dice_.chance(scenario_.warned)) check.clock_ahead = hours(1);
    if (dice_.chance(scenario_.unfit)) check.facts.missing = "no script";
    if (dice_.chance(scenario_.unfit) && node != order.nodes.front()) {
      check.unreached.push_back(core::test::timeout_to(order.nodes.front().value));
    }
    result.nodes.push_back(std::move(check));
  }
  if (dice_.chance(scenario_.lost)) return;
  queue_.after(dice_.between(milliseconds(50), seconds(20)),
               [this, result] { tell({}, {}, result); });
}

// As the shell does it. One node is faulty, and so are groups with it; some are not tested, some
// replays never end, and what the alignment test names need not be true. Without dice, as others'
// fates do not depend on it.
inline void Cluster::replay_nodes(const core::ReplayNodes& order) {
  const std::uint64_t fate = scenario_.seed + order.replay;
  const base::NodeId faulty{static_cast<std::uint32_t>(scenario_.seed % 5)};
  core::NodesReplayed result{order.replay, seconds(30), {}};
  for (std::size_t i = 0; i < order.groups.size(); ++i) {
    bool fails = fate % 11 == 0;
    for (const auto& place : order.groups[i]) {
      fails = fails || place.node == faulty;
      if (place.node.value >= nodes_.size()) continue;
      const bool counts = invariants_.groups().is_admitted(place.node);
      invariants_.replays_are_alone(!counts || !nodes_[place.node.value].anything_alive(), order);
    }
    core::GroupReplayed one{core::GroupReplayed::Outcome::kPassed, {}, {}};
    if (fails) one = {core::GroupReplayed::Outcome::kFailed, {}, "exit code 1"};
    if (fails && fate % 3 == 0) one.named.push_back(faulty);
    if ((fate + i) % 13 == 0) one = {core::GroupReplayed::Outcome::kUntested, {}, "lost"};
    result.groups.push_back(std::move(one));
  }
  if (order.groups.empty() || fate % 7 == 0) return;
  queue_.after(seconds(30), [this, result] { tell({}, {}, result); });
}

// As the shell does it: nothing found, different calls, nothing at all, or too late. Without dice,
// as others' fates do not depend on it.
inline void Cluster::look_back(const core::LookBack& question) {
  core::Diagnosed found{question.attempt, core::Diagnosed::Stage::kPostMortem, {}, {}};
  const std::uint32_t kind = question.attempt.value % 4;
  if (kind == 3) return;
  if (kind == 1) {
    found.verdict.finding = tracer::Finding::kMismatch;
    found.verdict.sentence = "ranks disagree";
  }
  queue_.after(kind == 2 ? seconds(3) : milliseconds(80), [this, found] { tell({}, {}, found); });
}

// As the shell does it, soon or too late; now and then with something that is no answer.
inline void Cluster::place_nodes(const core::SolvePlacement& question) {
  core::PlacementSolved solved = placer_.solve(question);
  if (dice_.chance(scenario_.misplaced)) {
    std::vector<base::NodeId>& members = solved.members;
    const auto anybody = [this] {
      return base::NodeId{static_cast<std::uint32_t>(dice_.below(nodes_.size() + 1))};
    };
    if (members.empty() || dice_.chance(0.2)) members.push_back(anybody());
    members[dice_.below(members.size())] = anybody();
    if (dice_.chance(0.2)) members.pop_back();
  }
  if (dice_.chance(scenario_.never_placed)) return;
  const Nanos takes =
      dice_.chance(0.8) ? dice_.between({}, milliseconds(20)) : dice_.between({}, seconds(10));
  queue_.after(takes, [this, solved] { tell({}, {}, solved); });
}

}  // namespace robustrun::sim
