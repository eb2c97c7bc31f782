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
  return doubled(spec.group.retry_first, troubles > 0 ? troubles - 1 : 0, spec.group.retry_max);
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

// An agent that died on a node that answers is launched again at once. If that fails too, or the
// machine does not answer, it is launched again later, after growing waits. Only a node that the
// run cannot do without is tried at once more often; the restart budget limits that. A node whose
// agent was told to end is left alone for the longest wait: it may be down for maintenance.
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
    dropped.gone = true;  // without their agent the shims kill their workers
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
  decide(Rule::kSpareChanged, fmt::format("{} is a spare", name(event.node)));
  if (state == JobState::kRunning) maybe_grow();
}

// Reported once per agent; the next agent on that node may live longer. False: the agent goes on,
// or is known to leave.
bool Job::Impl::note_leaving(const Event& event) {
  const auto& word = body<NodeEnding>(event);
  NodeState& node = at(event.node);
  if (word.signal == 0) {
    if (std::exchange(node.ending, true)) return false;
    decide(Rule::kNodeEnding, fmt::format("{} will be taken away: {}", name(event.node), word.why));
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

// No worker runs, or none on that node.
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

// The node's workers are alive, and may save together with the others. Failures of the others from
// now on are consequences, whatever their clocks show.
void Job::Impl::node_ending_working(const Event& event) {
  if (!note_leaving(event)) return;
  const bool is_needed = in_group(event.node) && at(event.node).ended < plan.slots(event.node);
  if (!is_needed) return report_departure(event.node);
  Fault left = departure(event.node);
  left.time_s = std::numeric_limits<std::int64_t>::min();
  left.words += fmt::format("; stopping all workers, which have {} to save",
                            base::in_seconds(spec.deadlines.shutdown_grace));
  break_down(std::move(left));
}

void Job::Impl::node_ending_stopping(const Event& event) {
  if (!note_leaving(event)) return;
  if (!in_group(event.node)) return report_departure(event.node);
  add_fault(departure(event.node), explains_root(event.node, {}));
}

// Whether the run is still there when a lost node is due again: without enough others it ends as
// soon as no node is on the way any more, and a check does not wait.
bool JobQuestions::may_be_awaited() const {
  if (spec.check_only) return false;
  return group_formed || spec.group.open || nodes_there + nodes_coming >= min_nodes();
}

void Job::Impl::report_loss(base::NodeId node, std::string text) {
  const base::Nanos retry_at = at(node).retry_at;
  const Rule rule = in_group(node) ? Rule::kAgentLost : Rule::kSpareChanged;
  if (retry_at <= now) {
    text += "; launching it again";
  } else if (retry_at != kNever && may_be_awaited()) {
    text += fmt::format("; launching it again in {}", base::in_seconds(retry_at - now));
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
  // A loss before anything was started costs nothing, unless an agent joins and dies in a loop.
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

// The agent that had announced its departure is gone.
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

// No worker runs and no node has orders: the wait goes on however many nodes are lost. An agent
// that dies repeatedly is launched again after the wait, not during it.
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
  // All its workers have finished: the node is needed again only for a restart.
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
  if (verdict().restart()) launch_due();
  conclude_if_gone();
}

void Job::Impl::agent_lost_finishing(const Event& event) {
  const auto& lost = body<AgentLost>(event);
  drop_agent(event.node, lost.why, lost.node_answers);
  finish_if_gone();
}

void Job::Impl::nodes_timer(const Event&) {
  if (state == JobState::kStopping && !verdict().restart()) return;
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
    if (at(node).retry_at <= now) text += "; launching it again";
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
