#include "supervisor/core/job/nodes/drains.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/core/words.h"

namespace robustrun::supervisor {

bool Drains::must_leave(const NodeState& node) const {
  return !node.drained.empty() && spec_.policy.is_on() && spec_.policy.drain != DrainAnswer::kSay;
}

std::size_t Drains::replacements() const {
  std::size_t spares = 0;
  std::size_t needed = 0;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const bool works = nodes_[i].is_there();
    if (group_.has({i})) {
      needed += works ? 0 : 1;
    } else if (works && nodes_[i].drained.empty()) {
      ++spares;
    }
  }
  return spares > needed ? spares - needed : 0;
}

void Drains::noted(const Event& event) {
  const auto& health = body<NodeHealth>(event);
  NodeState& node = nodes_.at(event.node);
  const std::string words =
      fmt::format("{}: {}: {}", nodes_.name(event.node), health.subject, health.line);
  if (health.over) {
    if (node.drained.empty()) return;
    node.drained.clear();
    if (!std::exchange(node.left_drained, false)) {
      return orders_.decide(Rule::kNodeHealth, words + " (no longer)");
    }
    nodes_.set_presence(node, node.agent, false);
    orders_.decide_on({event.node}, Rule::kNodeReturned,
                      fmt::format("{} is a spare again: {} uses it again", nodes_.name(event.node),
                                  health.subject));
    if (orders_.state() == JobState::kJoining) moves_.group_changed();
    return;
  }
  if (node.drained == health.line) return;
  node.drained = health.line;
  if (node.unfit) return;
  const bool is_needed = workers_.are_left_on(event.node);
  const bool is_working =
      orders_.state() == JobState::kStarting || orders_.state() == JobState::kRunning;
  const bool can_go = replacements() > 0 && !evictions_.obstacle({event.node}, false);
  const bool goes_now = must_leave(node) && spec_.policy.drain == DrainAnswer::kNow && is_needed &&
                        is_working && can_go && workers_.succeeded() == 0;
  const char* then = "; a spare takes its place at the next restart";
  if (goes_now) then = "; a spare takes its place now";
  if (!can_go) then = "; no spare can take its place";
  if (!group_.has(event.node)) then = "; other nodes are taken first";
  if (!must_leave(node)) then = "";
  orders_.decide(Rule::kNodeHealth, words + then);
  if (goes_now) hand_over(event.node);
}

// The node's workers are alive, and save together with the others.
void Drains::hand_over(base::NodeId node) {
  Fault left = infrastructure_fault(
      Rule::kNodeLeft,
      fmt::format("{} is given back to the scheduler; stopping all workers, which have {} to save",
                  nodes_.name(node), base::in_seconds(spec_.deadlines.shutdown_grace)),
      moves_.context(node));
  left.nodes = {node};
  left.time_s = std::numeric_limits<std::int64_t>::min();
  moves_.break_down(std::move(left));
}

void Drains::leave() {
  std::size_t left = 0;
  for (const base::NodeId node : group_) {
    if (must_leave(nodes_.at(node)) && nodes_.at(node).is_there()) ++left;
  }
  if (left == 0) return;
  left = std::min(left, replacements());
  for (const base::NodeId id : group_) {
    NodeState& node = nodes_.at(id);
    if (left == 0) return;
    if (!must_leave(node) || !node.is_there()) continue;
    if (evictions_.obstacle({id}, false)) return;
    --left;
    nodes_.set_presence(node, node.agent, true);
    node.trouble = node.drained;
    node.left_drained = true;
    node.retry_at = kNever;
    orders_.decide_on({id}, Rule::kNodeDrained,
                      fmt::format("{} is taken out of the run: {}", nodes_.name(id), node.drained));
  }
}

}  // namespace robustrun::supervisor
