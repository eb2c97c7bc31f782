#include "supervisor/core/job/nodes/agents.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/core/words.h"
#include "supervisor/core/fault/backoff.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

using Agent = NodeState::Agent;

base::Nanos Agents::retry_delay(std::uint32_t troubles) const {
  return doubled(spec_.group.retry_first, troubles > 0 ? troubles - 1 : 0, spec_.group.retry_max);
}

void Agents::launch(base::NodeId node) {
  NodeState& state_of = nodes_.at(node);
  ++state_of.generation.value;
  nodes_.set_presence(state_of, Agent::kLaunched, state_of.unfit);
  nodes_.set_leaving(state_of, false);
  state_of.ending = false;
  state_of.launched_at = orders_.now();
  orders_.give(LaunchAgent{node, state_of.generation});
}

void Agents::launch_due() {
  for (const base::NodeId node : nodes_.not_there()) {
    const NodeState& lost = nodes_.at(node);
    if (lost.agent == Agent::kLost && lost.retry_at <= orders_.now()) launch(node);
  }
  arm_timer();
}

void Agents::drop(base::NodeId node, const std::string& why, bool node_answers) {
  NodeState& dropped = nodes_.at(node);
  if (dropped.agent == Agent::kLaunched) {
    ++dropped.failed_launches;
  } else if (!dropped.leaving) {
    ++dropped.losses;
  }
  nodes_.set_presence(dropped, Agent::kLost, dropped.unfit);
  if (!dropped.leaving) dropped.trouble = why;
  copies_.lose(node);
  workers_.lose(node);
  const std::uint32_t troubles = dropped.losses + dropped.failed_launches;
  const bool needed = nodes_.there() + nodes_.coming() < nodes_.min_wanted();  // the others
  const bool at_once = node_answers && dropped.failed_launches < kAgentLaunchesMax &&
                       (troubles <= kAgentLossesForgiven || needed);
  const bool is_over = spec_.nodes[node.value].volunteer || dropped.unfit;
  dropped.retry_at = is_over           ? kNever
                     : dropped.leaving ? orders_.now() + spec_.group.retry_max
                     : at_once         ? orders_.now()
                                       : orders_.now() + retry_delay(troubles);
}

std::string Agents::loss_in_words(base::NodeId node, const std::string& why) const {
  return fmt::format("the agent of {} {}: {}", nodes_.name(node),
                     nodes_.at(node).agent == Agent::kLaunched ? "cannot be started" : "was lost",
                     why);
}

void Agents::report_loss(base::NodeId node, std::string text) {
  const base::Nanos retry_at = nodes_.at(node).retry_at;
  const Rule rule = group_.has(node) ? Rule::kAgentLost : Rule::kSpareChanged;
  if (retry_at <= orders_.now()) {
    text += "; launching it again";
  } else if (retry_at != kNever && may_be_awaited()) {
    text += fmt::format("; launching it again in {}", base::in_seconds(retry_at - orders_.now()));
  }
  orders_.decide(rule, std::move(text));
  if (retry_at <= orders_.now()) launch(node);
  arm_timer();
}

// Whether the run is still there when a lost node is due again: without enough others it ends as
// soon as no node is on the way any more, and a check does not wait.
bool Agents::may_be_awaited() const {
  if (spec_.check_only) return false;
  return group_.is_formed() || spec_.group.open ||
         nodes_.there() + nodes_.coming() >= nodes_.min_wanted();
}

void Agents::look_after() {
  Evidence late;
  bool is_missed = false;
  for (const base::NodeId node : nodes_.not_there()) {
    if (nodes_.at(node).agent != Agent::kLaunched) continue;
    if (nodes_.at(node).launched_at + spec_.deadlines.agent_hello > orders_.now()) continue;
    const std::string why = fmt::format("it did not say hello within {}",
                                        base::in_seconds(spec_.deadlines.agent_hello));
    std::string text = loss_in_words(node, why);
    drop(node, why, true);
    if (nodes_.at(node).retry_at <= orders_.now()) text += "; launching it again";
    late.add(std::move(text));
    is_missed = is_missed || group_.has(node);
  }
  if (!late.first.empty()) {
    orders_.decide(is_missed ? Rule::kAgentLost : Rule::kSpareChanged, late.first.front(),
                   late.lines());
  }
  launch_due();
}

void Agents::adopt(bool may_launch) {
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const NodeState& node = nodes_[i];
    const auto agent = node.agent == Agent::kJoined     ? AdoptNode::Agent::kJoined
                       : node.agent == Agent::kLaunched ? AdoptNode::Agent::kExpected
                                                        : AdoptNode::Agent::kLost;
    orders_.give(AdoptNode{{i}, node.generation, nodes_.name({i}), agent, node.listens});
  }
  if (!may_launch) return;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    // The predecessor may or may not have launched this agent; an agent of that launch is outdated.
    if (nodes_[i].agent == Agent::kLaunched && !spec_.nodes[i].volunteer) launch({i});
  }
  arm_timer();
}

void Agents::arm_timer() {
  base::Nanos first = kNever;
  for (const base::NodeId node : nodes_.not_there()) {
    if (nodes_.at(node).agent == Agent::kLaunched) {
      first = std::min(first, nodes_.at(node).launched_at + spec_.deadlines.agent_hello);
    } else if (nodes_.at(node).agent == Agent::kLost) {
      first = std::min(first, nodes_.at(node).retry_at);
    }
  }
  if (first != kNever) orders_.set_timer(TimerId::kNodes, std::max(first, orders_.now()));
}

}  // namespace robustrun::supervisor
