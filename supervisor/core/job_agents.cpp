// Agents of the nodes: launch, hello, loss.

#include <fmt/core.h>

#include <algorithm>

#include "supervisor/core/job_impl.h"
#include "supervisor/core/limits.h"

namespace robustrun::supervisor {

using Agent = NodeState::Agent;

void Job::Impl::launch(base::NodeId node) {
  NodeState& state_of = at(node);
  ++state_of.generation.value;
  state_of.agent = Agent::kLaunched;
  state_of.launched_at = now;
  out.push_back(LaunchAgent{node, state_of.generation});
}

void Job::Impl::relaunch_lost() {
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].agent == Agent::kLost) launch(base::NodeId{i});
  }
}

bool Job::Impl::drop_agent(base::NodeId node) {
  NodeState& dropped = at(node);
  if (dropped.agent == Agent::kJoined) --joined_nodes;
  if (dropped.agent == Agent::kLaunched) ++dropped.failed_launches;
  dropped.agent = Agent::kLost;
  if (!dropped.gone) {
    dropped.gone = true;  // without their agent the shims kill what they hold
    ++gone_nodes;
  }
  return dropped.failed_launches < kAgentLaunchesMax;
}

void Job::Impl::agent_joined(const Event& event) {
  NodeState& node = at(event.node);
  if (node.agent == Agent::kJoined) return;
  node.agent = Agent::kJoined;
  node.failed_launches = 0;
  ++joined_nodes;
  if (state == JobState::kJoining && all_joined()) begin_attempt();
}

void Job::Impl::agent_lost_idle(const Event& event) {
  const std::string& why = body<AgentLost>(event).why;
  const bool had_joined = at(event.node).agent == Agent::kJoined;
  if (!drop_agent(event.node)) {
    return give_up(fmt::format("the agent of {} cannot be started: {}", name(event.node), why));
  }
  std::string text = fmt::format("the agent of {} was lost: {}", name(event.node), why);
  if (had_joined) return setback(Rule::kAgentLost, std::move(text));
  decide(Rule::kAgentLost, std::move(text) + "; it is started once more");
  launch(event.node);
  if (state == JobState::kJoining) arm_hello_timer();
}

void Job::Impl::agent_lost_working(const Event& event) {
  const bool had_done_its_part = at(event.node).ended == plan.slots(event.node);
  drop_agent(event.node);
  // Its workers have all ended well, or the attempt would not be running: it is only needed again
  // for a restart.
  if (had_done_its_part) return;
  break_down(infrastructure_fault(
      Rule::kAgentLost,
      fmt::format("the agent of {} was lost: {}", name(event.node), body<AgentLost>(event).why),
      context(event.node)));
}

void Job::Impl::agent_lost_stopping(const Event& event) {
  const std::string& why = body<AgentLost>(event).why;
  const bool may_launch = drop_agent(event.node);
  add_fault(infrastructure_fault(Rule::kAgentLost,
                                 fmt::format("the agent of {} was lost: {}", name(event.node), why),
                                 context(event.node)));
  if (!may_launch) {
    return give_up(fmt::format("the agent of {} cannot be started: {}", name(event.node), why));
  }
  if (verdict().restart) launch(event.node);
  conclude_if_gone();
}

void Job::Impl::agent_lost_finishing(const Event& event) {
  drop_agent(event.node);
  finish_if_gone();
}

void Job::Impl::hello_overdue(const Event&) {
  Evidence late;
  bool may_launch = true;
  for (std::uint32_t i = 0; i < nodes.size(); ++i) {
    const base::NodeId node{i};
    if (at(node).agent != Agent::kLaunched) continue;
    if (at(node).launched_at + spec.deadlines.agent_hello > now) continue;
    may_launch = drop_agent(node) && may_launch;
    late.add(fmt::format("the agent of {} did not say hello within {}", name(node),
                         seconds_in_words(spec.deadlines.agent_hello)));
  }
  if (!may_launch) return give_up(late.first.front() + ", twice");
  if (!late.first.empty()) {
    decide(Rule::kAgentLost, late.first.front() + "; it is started once more", late.lines());
    relaunch_lost();
  }
  arm_hello_timer();
}

void Job::Impl::arm_hello_timer() {
  base::Nanos first = base::Nanos::max();
  for (const NodeState& node : nodes) {
    if (node.agent == Agent::kLaunched) first = std::min(first, node.launched_at);
  }
  set_timer(TimerId::kState, first + spec.deadlines.agent_hello);
}

}  // namespace robustrun::supervisor
