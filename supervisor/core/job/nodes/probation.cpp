#include "supervisor/core/job/nodes/probation.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/core/result.h"
#include "supervisor/core/preflight/verdict.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

using Agent = NodeState::Agent;

bool Probation::may_return(base::NodeId node) const {
  const bool can_be_launched = !spec_.group.open && !spec_.nodes[node.value].volunteer;
  return can_be_launched && nodes_.at(node).unfit && nodes_.at(node).returns < kReturnsMax;
}

base::Nanos Probation::next_retest() const {
  base::Nanos first = kNever;
  // Called at each of thousands of hellos: mostly no node is left out.
  if (spec_.group.open || nodes_.there() + nodes_.coming() == nodes_.size()) return first;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const bool is_planned = may_return({i}) && nodes_[i].retest_at > base::Nanos{};
    if (is_planned) first = std::min(first, nodes_[i].retest_at);
  }
  return first;
}

// "; n3 is tested again meanwhile"
std::string Probation::retests_in_words() const {
  std::vector<std::string> names;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (may_return({i})) names.push_back(nodes_.name({i}));
  }
  if (names.empty()) return {};
  return fmt::format("; {} {} tested again meanwhile", names_in_words(names),
                     names.size() == 1 ? "is" : "are");
}

void Probation::retest() {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    NodeState& node = nodes_[i];
    if (!may_return({i}) || node.agent == Agent::kLaunched) continue;
    const base::Nanos delay = agents_.retry_delay(node.retests + 1);
    if (node.retest_at == base::Nanos{}) {
      node.retest_at = orders_.now() + (node.on_probation ? kPreflightFullMax : delay);
    }
    if (orders_.now() < node.retest_at) continue;
    ++node.retests;
    node.retest_at = orders_.now() + delay;
    if (node.agent == Agent::kLost) {
      agents_.launch({i});
      agents_.arm_timer();
      continue;
    }
    node.retest_at += kPreflightFullMax;  // unless it answers before
    node.on_probation = true;
    check({base::NodeId{i}});
  }
}

void Probation::readmit(base::NodeId node) {
  NodeState& returned = nodes_.at(node);
  nodes_.set_presence(returned, returned.agent, false);
  ++returned.losses;  // other nodes come first, should a place become free
  ++returned.returns;
  RR_ASSERT(returned.returns <= kReturnsMax);
  const std::string how =
      returned.retests == 0
          ? std::string("is a spare")
          : fmt::format("takes part again because the run waits for nodes (left out before: {})",
                        returned.trouble);
  std::string text = fmt::format("{} passed a full check and {}; return {} of at most {}",
                                 nodes_.name(node), how, returned.returns, kReturnsMax);
  returned.retests = 0;
  returned.retest_at = base::Nanos{};
  returned.left_drained = false;
  returned.suspicion.reset();
  orders_.decide_on({node}, Rule::kNodeReturned, std::move(text));
}

void Probation::check(const std::vector<base::NodeId>& suspects) {
  std::vector<base::NodeId> there;
  for (const base::NodeId node : suspects) {
    const bool is_there = nodes_.at(node).agent == Agent::kJoined;
    if (is_there && nodes_.at(node).on_probation) there.push_back(node);
  }
  CheckNodes order = checks_.order(std::move(there), PreflightDepth::kFull);
  if (!order.nodes.empty()) orders_.give(std::move(order));
}

void Probation::check_again() {
  std::vector<base::NodeId> tested;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].on_probation) tested.push_back({i});
  }
  if (!tested.empty()) check(tested);
}

bool Probation::judge(const NodesChecked& result) {
  const NodesChecked current = checks_.current_part(
      result, [this](base::NodeId node) { return nodes_.at(node).on_probation; });
  if (current.nodes.empty()) return false;
  std::vector<WantedNode> wanted;
  for (const NodeCheck& node : current.nodes) {
    wanted.push_back({nodes_.name(node.node), nodes_.at(node.node).slots});
  }
  for (const NodeVerdict& verdict : supervisor::judge(current, wanted, 0)) {
    NodeState& node = nodes_.at(verdict.node);
    node.on_probation = false;
    if (verdict.level >= Fitness::kSlow) {
      node.trouble = verdict.findings.front().words;
      node.retest_at = base::Nanos{};
      node.left_drained = false;  // now it is the test that keeps it out
      orders_.decide(Rule::kNodeUnfit,
                     fmt::format("{} {}: {}", nodes_.name(verdict.node),
                                 node.retests > 0 ? "stays out" : "stays evicted", node.trouble));
      continue;
    }
    readmit(verdict.node);
  }
  moves_.group_changed();
  return true;
}

}  // namespace robustrun::supervisor
