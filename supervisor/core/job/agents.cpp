// Agents of the nodes: launch, hello, loss.

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/core/words.h"
#include "supervisor/core/job/impl.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {
using Agent = NodeState::Agent;

base::Nanos JobQuestions::retry_delay(std::uint32_t troubles) const {
  const GroupPolicy& policy = spec.group;
  base::Nanos delay = policy.retry_first;
  for (std::uint32_t i = 1; i < troubles && delay < policy.retry_max; ++i) {
    delay = delay > policy.retry_max / 2 ? policy.retry_max : delay * 2;
  }
  return std::min(delay, policy.retry_max);
}

void Job::Impl::launch(base::NodeId node) {
  NodeState& state_of = at(node);
  ++state_of.generation.value;
  set_presence(state_of, Agent::kLaunched, state_of.unfit);
  set_leaving(state_of, false);
  state_of.ending = false;
  state_of.launched_at = now;
  out.push_back(LaunchAgent{node, state_of.generation});
}

void Job::Impl::launch_due() {
  for (const base::NodeId node : not_there) {
    if (at(node).agent == Agent::kLost && at(node).retry_at <= now) launch(node);
  }
  arm_nodes_timer();
}

// An agent that died on an answering node is started again at once, in place; what then fails, or a
// machine that does not answer, is tried again later, each time after a longer wait. Only a node
// without which the run cannot go on is tried again at once more often: budgets end that. One whose
// agent was told to end is left alone for as long as any: perhaps it is down for maintenance.
void Job::Impl::drop_agent(base::NodeId node, const std::string& why, bool node_answers) {
  NodeState& dropped = at(node);
  if (dropped.agent == Agent::kLaunched) {
    ++dropped.failed_launches;
  } else if (!dropped.leaving) {
    ++dropped.losses;
  }
  set_presence(dropped, Agent::kLost, dropped.unfit);
  if (!dropped.leaving) dropped.trouble = why;
  copies.lose(node);
  if (!dropped.gone) {
    dropped.gone = true;  // without their agent the shims kill what they hold
    --running_nodes;
  }
  const std::uint32_t troubles = dropped.losses + dropped.failed_launches;
  const bool needed = nodes_there + nodes_coming < min_nodes();  // the others
  const bool at_once = node_answers && dropped.failed_launches < kAgentLaunchesMax &&
                       (troubles <= kAgentLossesForgiven || needed);
  const bool is_over = spec.nodes[node.value].volunteer || dropped.unfit;
  dropped.retry_at = is_over           ? kNever
                     : dropped.leaving ? now + spec.group.retry_max
                     : at_once         ? now
                                       : now + retry_delay(troubles);
}

std::string Job::Impl::loss_in_words(base::NodeId node, const std::string& why) const {
  return fmt::format("the agent of {} {}: {}", name(node),
                     at(node).agent == Agent::kLaunched ? "cannot be started" : "was lost", why);
}

void Job::Impl::agent_joined(const Event& event) {
  const auto& joined = body<AgentJoined>(event);
  NodeState& node = at(event.node);
  if (node.agent == Agent::kJoined) return;
  set_presence(node, Agent::kJoined, node.unfit);
  node.failed_launches = 0;
  if (!joined.address.empty()) node.address = joined.address;
  node.listens = joined.listens;
  node.bulk = joined.bulk;
  if (spec.nodes[event.node.value].slots == 0) node.slots = joined.slots;
  if (node.unfit) node.retest_at = now;
  if (state == JobState::kJoining) return consider_group();
  if (state == JobState::kPlacing) return reconsider_group();
  if (!group_formed || in_group(event.node) || state == JobState::kFinishing) return;
  if (node.unfit) return;
  if (!node.checked) check_spare(event.node);
  decide(Rule::kSpareChanged, fmt::format("{} is there as a spare", name(event.node)));
  if (state == JobState::kRunning) maybe_grow();
}

// Said once per agent; whoever comes next on that node may live longer. False: the agent goes on,
// or is known to leave.
bool Job::Impl::note_leaving(const Event& event) {
  const auto& word = body<NodeEnding>(event);
  NodeState& node = at(event.node);
  if (word.signal == 0) {
    if (std::exchange(node.ending, true)) return false;
    decide(Rule::kNodeEnding,
           fmt::format("{} will be taken from us: {}", name(event.node), word.why));
    return false;
  }
  if (node.leaving) return false;
  set_leaving(node, true);
  node.trouble = word.why;
  return true;
}

Fault Job::Impl::departure(base::NodeId node) const {
  Fault left = infrastructure_fault(
      Rule::kNodeLeft, fmt::format("{} leaves the run: {}", name(node), at(node).trouble),
      context(node));
  left.nodes = {node};
  return left;
}

// Nothing runs, or nothing of ours on that node.
void Job::Impl::report_departure(base::NodeId node) {
  decide(Rule::kSpareChanged, departure(node).words);
}

void Job::Impl::node_ending(const Event& event) {
  if (!note_leaving(event)) return;
  report_departure(event.node);
  if (state == JobState::kJoining) return consider_group();
  if (state == JobState::kPlacing) return reconsider_group();
  if (state == JobState::kReserving && in_group(event.node)) join_agents();
}

// Its workers are alive, and may save together with the others'. What these fail of meanwhile
// follows from it, whatever their clocks show.
void Job::Impl::node_ending_working(const Event& event) {
  if (!note_leaving(event)) return;
  const bool is_needed = in_group(event.node) && at(event.node).ended < plan.slots(event.node);
  if (!is_needed) return report_departure(event.node);
  Fault left = departure(event.node);
  left.time_s = std::numeric_limits<std::int64_t>::min();
  left.words += fmt::format("; all workers are told to end, and have {}",
                            base::in_seconds(spec.deadlines.shutdown_grace));
  break_down(std::move(left));
}

void Job::Impl::node_ending_stopping(const Event& event) {
  if (!note_leaving(event)) return;
  if (!in_group(event.node)) return report_departure(event.node);
  add_fault(departure(event.node), explains_root(event.node, {}));
}

void Job::Impl::report_loss(base::NodeId node, std::string text) {
  const base::Nanos retry_at = at(node).retry_at;
  const Rule rule = in_group(node) ? Rule::kAgentLost : Rule::kSpareChanged;
  if (retry_at <= now) {
    text += "; it is started once more";
  } else if (retry_at != kNever) {
    text += fmt::format("; it is tried again in {}", base::in_seconds(retry_at - now));
  }
  decide(rule, std::move(text));
  if (retry_at <= now) launch(node);
  arm_nodes_timer();
}

void Job::Impl::agent_lost_idle(const Event& event) {
  const auto& lost = body<AgentLost>(event);
  if (at(event.node).leaving) return see_off(event);
  const bool had_joined = at(event.node).agent == Agent::kJoined;
  std::string text = loss_in_words(event.node, lost.why);
  drop_agent(event.node, lost.why, lost.node_answers);
  // Before anything was started a loss costs nothing, but for agents that join and die in a loop.
  const bool in_a_loop =
      at(event.node).losses > kAgentLossesForgiven && at(event.node).retry_at <= now;
  const bool nothing_began = state == JobState::kJoining || state == JobState::kChecking ||
                             state == JobState::kPlacing || state == JobState::kReplaying;
  if (had_joined && in_group(event.node) && (!nothing_began || in_a_loop)) {
    return setback(Rule::kAgentLost, std::move(text));
  }
  report_loss(event.node, std::move(text));
  if (state == JobState::kJoining) consider_group();
  if (state == JobState::kPlacing) reconsider_group();
}

// An agent that said that it leaves is gone.
void Job::Impl::see_off(const Event& event) {
  const auto& lost = body<AgentLost>(event);
  const bool waited = state == JobState::kBackoff && awaits_answers();
  drop_agent(event.node, lost.why, lost.node_answers);
  arm_nodes_timer();
  if (state == JobState::kJoining) return consider_group();
  if (state == JobState::kPlacing) return reconsider_group();
  if (state == JobState::kBackoff) return copies_after_loss(event.node, waited);
  if (state == JobState::kStopping) return conclude_if_gone();
  tell_saved();
}

// Nothing runs and nothing is asked of it yet: the wait goes on as it is, however many nodes are
// lost at once. An agent that dies again and again is started again after the wait, not before it.
void Job::Impl::agent_lost_waiting(const Event& event) {
  const auto& lost = body<AgentLost>(event);
  if (at(event.node).leaving) return see_off(event);
  const bool waited = awaits_answers();
  std::string text = loss_in_words(event.node, lost.why);
  drop_agent(event.node, lost.why, lost.node_answers);
  NodeState& node = at(event.node);
  if (node.losses > kAgentLossesForgiven) node.retry_at = std::max(node.retry_at, backoff_until);
  report_loss(event.node, std::move(text));
  copies_after_loss(event.node, waited);
}

void Job::Impl::agent_lost_working(const Event& event) {
  const auto& lost = body<AgentLost>(event);
  if (at(event.node).leaving) return see_off(event);
  const bool had_done_its_part = at(event.node).ended == plan.slots(event.node);
  std::string text = loss_in_words(event.node, lost.why);
  drop_agent(event.node, lost.why, lost.node_answers);
  if (!in_group(event.node)) {
    report_loss(event.node, std::move(text));
    return tell_saved();
  }
  // Its workers have all ended well, or the attempt would not be running: it is only needed again
  // for a restart.
  if (had_done_its_part) return tell_saved();
  break_down(infrastructure_fault(Rule::kAgentLost, std::move(text), context(event.node)));
}

void Job::Impl::agent_lost_stopping(const Event& event) {
  const auto& lost = body<AgentLost>(event);
  if (at(event.node).leaving) return see_off(event);
  std::string text = loss_in_words(event.node, lost.why);
  drop_agent(event.node, lost.why, lost.node_answers);
  if (in_group(event.node)) {
    std::optional<base::Nanos> last_word;
    if (lost.silent > base::Nanos{}) last_word = now - lost.silent;
    add_fault(infrastructure_fault(Rule::kAgentLost, std::move(text), context(event.node)),
              explains_root(event.node, last_word));
  } else {
    decide(Rule::kSpareChanged, std::move(text));
  }
  if (verdict().restart) launch_due();
  conclude_if_gone();
}

void Job::Impl::agent_lost_finishing(const Event& event) {
  const auto& lost = body<AgentLost>(event);
  drop_agent(event.node, lost.why, lost.node_answers);
  finish_if_gone();
}

void Job::Impl::nodes_timer(const Event&) {
  if (state == JobState::kStopping && !verdict().restart) return;
  look_after_nodes();
  if (state == JobState::kJoining) consider_group();
}

void Job::Impl::look_after_nodes() {
  Evidence late;
  bool is_missed = false;
  for (const base::NodeId node : not_there) {
    if (at(node).agent != Agent::kLaunched) continue;
    if (at(node).launched_at + spec.deadlines.agent_hello > now) continue;
    const std::string why =
        fmt::format("it did not say hello within {}", base::in_seconds(spec.deadlines.agent_hello));
    std::string text = loss_in_words(node, why);
    drop_agent(node, why, true);
    if (at(node).retry_at <= now) text += "; it is started once more";
    late.add(std::move(text));
    is_missed = is_missed || in_group(node);
  }
  if (!late.first.empty()) {
    decide(is_missed ? Rule::kAgentLost : Rule::kSpareChanged, late.first.front(), late.lines());
  }
  launch_due();
}

void Job::Impl::arm_nodes_timer() {
  base::Nanos first = kNever;
  for (const base::NodeId node : not_there) {
    if (at(node).agent == Agent::kLaunched) {
      first = std::min(first, at(node).launched_at + spec.deadlines.agent_hello);
    } else if (at(node).agent == Agent::kLost) {
      first = std::min(first, at(node).retry_at);
    }
  }
  if (first != kNever) set_timer(TimerId::kNodes, std::max(first, now));
}

}  // namespace robustrun::supervisor
