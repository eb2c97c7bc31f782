// The scheduler drains a node, is about to reboot it, or puts it under maintenance. Its workers may
// go on; a spare takes its place at the next restart or, by the policy, at once. The node is not to
// blame: it comes back as a spare when the scheduler has changed its mind.

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/core/words.h"
#include "supervisor/core/job/impl.h"

namespace robustrun::supervisor {

using Agent = NodeState::Agent;

bool JobQuestions::must_leave(const NodeState& node) const {
  return !node.drained.empty() && spec.policy.is_on() && spec.policy.drain != DrainAnswer::kSay;
}

std::size_t JobQuestions::replacements() const {
  std::size_t spares = 0;
  std::size_t needed = 0;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const bool works = nodes[i].agent == Agent::kJoined && nodes[i].may_work();
    if (in_group({i})) {
      needed += works ? 0 : 1;
    } else if (works && nodes[i].drained.empty()) {
      ++spares;
    }
  }
  return spares > needed ? spares - needed : 0;
}

void Job::Impl::note_drain(const Event& event) {
  const auto& health = body<NodeHealth>(event);
  NodeState& node = at(event.node);
  const std::string words =
      fmt::format("{}: {}: {}", name(event.node), health.subject, health.line);
  if (health.over) {
    if (node.drained.empty()) return;
    node.drained.clear();
    if (!std::exchange(node.left_drained, false)) {
      return decide(Rule::kNodeHealth, words + " (no longer)");
    }
    set_presence(node, node.agent, false);
    out.push_back(Decision{
        Rule::kNodeReturned,
        attempt,
        fmt::format("{} is a spare again: {} uses it again", name(event.node), health.subject),
        {},
        {},
        {},
        {event.node}});
    if (state == JobState::kJoining) consider_group();
    return;
  }
  if (node.drained == health.line) return;
  node.drained = health.line;
  if (node.unfit) return;
  const bool is_needed = in_group(event.node) && at(event.node).ended < plan.slots(event.node);
  const bool is_working = state == JobState::kStarting || state == JobState::kRunning;
  const bool can_go = replacements() > 0 && !eviction_obstacle({event.node}, false);
  const bool goes_now = must_leave(node) && spec.policy.drain == DrainAnswer::kNow && is_needed &&
                        is_working && can_go && succeeded_workers == 0;
  const char* then = "; a spare takes its place at the next restart";
  if (goes_now) then = "; a spare takes its place now";
  if (!can_go) then = "; no spare can take its place";
  if (!in_group(event.node)) then = "; other nodes are taken first";
  if (!must_leave(node)) then = "";
  decide(Rule::kNodeHealth, words + then);
  if (goes_now) hand_over(event.node);
}

// The node's workers are alive, and save together with the others.
void Job::Impl::hand_over(base::NodeId node) {
  Fault left = infrastructure_fault(
      Rule::kNodeLeft,
      fmt::format("{} is left to the scheduler; stopping all workers, which have {} to save",
                  name(node), base::in_seconds(spec.deadlines.shutdown_grace)),
      context(node));
  left.nodes = {node};
  left.time_s = std::numeric_limits<std::int64_t>::min();
  break_down(std::move(left));
}

void Job::Impl::leave_drained() {
  std::size_t left = 0;
  for (const base::NodeId node : group) {
    if (must_leave(at(node)) && at(node).agent == Agent::kJoined && at(node).may_work()) ++left;
  }
  if (left == 0) return;
  left = std::min(left, replacements());
  for (const base::NodeId id : group) {
    NodeState& node = at(id);
    if (left == 0) return;
    if (!must_leave(node) || node.agent != Agent::kJoined || !node.may_work()) continue;
    if (eviction_obstacle({id}, false)) return;
    --left;
    set_presence(node, node.agent, true);
    node.trouble = node.drained;
    node.left_drained = true;
    node.retry_at = kNever;
    out.push_back(Decision{Rule::kNodeDrained,
                           attempt,
                           fmt::format("{} is left: {}", name(id), node.drained),
                           {},
                           {},
                           {},
                           {id}});
  }
}

}  // namespace robustrun::supervisor
