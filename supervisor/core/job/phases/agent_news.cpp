#include "supervisor/core/job/phases/agent_news.h"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/core/words.h"
#include "supervisor/core/types/limits.h"

namespace robustrun::supervisor {

using Agent = NodeState::Agent;

void AgentNews::joined(const Event& event) {
  const auto& joined = body<AgentJoined>(event);
  NodeState& node = nodes_.at(event.node);
  if (node.agent == Agent::kJoined) return;
  nodes_.set_presence(node, Agent::kJoined, node.unfit);
  node.failed_launches = 0;
  if (!joined.address.empty()) node.address = joined.address;
  node.listens = joined.listens;
  node.bulk = joined.bulk;
  if (spec_.nodes[event.node.value].slots == 0) node.slots = joined.slots;
  if (node.unfit) node.retest_at = orders_.now();
  if (is_forming()) return moves_.group_changed();
  if (!group_.is_formed() || group_.has(event.node) || node.unfit) return;
  if (orders_.state() == JobState::kFinishing) return;
  if (!node.checked) checking_.check_spare(event.node);
  orders_.decide(Rule::kSpareChanged, fmt::format("{} is a spare", nodes_.name(event.node)));
  if (orders_.state() == JobState::kRunning) growth_.consider();
}

bool AgentNews::is_forming() const {
  return orders_.state() == JobState::kJoining || orders_.state() == JobState::kPlacing;
}

// Reported once per agent; the next agent on that node may live longer. False: the agent goes on,
// or is known to leave.
bool AgentNews::note_leaving(const Event& event) {
  const auto& word = body<NodeEnding>(event);
  NodeState& node = nodes_.at(event.node);
  if (word.signal == 0) {
    if (std::exchange(node.ending, true)) return false;
    orders_.decide(Rule::kNodeEnding,
                   fmt::format("{} will be taken away: {}", nodes_.name(event.node), word.why));
    return false;
  }
  if (node.leaving) return false;
  nodes_.set_leaving(node, true);
  node.trouble = word.why;
  return true;
}

Fault AgentNews::departure(base::NodeId node) const {
  Fault left = infrastructure_fault(
      Rule::kNodeLeft,
      fmt::format("{} leaves the run: {}", nodes_.name(node), nodes_.at(node).trouble),
      moves_.context(node));
  left.nodes = {node};
  return left;
}

// No worker runs, or none on that node.
void AgentNews::report_departure(base::NodeId node) {
  orders_.decide(Rule::kSpareChanged, departure(node).words);
}

void AgentNews::ending(const Event& event) {
  if (!note_leaving(event)) return;
  report_departure(event.node);
  if (is_forming()) return moves_.group_changed();
  if (orders_.state() == JobState::kReserving && group_.has(event.node)) moves_.join_agents();
}

// The node's workers are alive, and may save together with the others. Failures of the others from
// now on are consequences, whatever their clocks show.
void AgentNews::ending_working(const Event& event) {
  if (!note_leaving(event)) return;
  if (!workers_.are_left_on(event.node)) return report_departure(event.node);
  Fault left = departure(event.node);
  left.time_s = std::numeric_limits<std::int64_t>::min();
  left.words += fmt::format("; stopping all workers, which have {} to save",
                            base::in_seconds(spec_.deadlines.shutdown_grace));
  moves_.break_down(std::move(left));
}

void AgentNews::ending_stopping(const Event& event) {
  if (!note_leaving(event)) return;
  if (!group_.has(event.node)) return report_departure(event.node);
  stopping_.add_fault(departure(event.node), stopping_.explains_root(event.node, {}));
}

void AgentNews::lost_idle(const Event& event) {
  const auto& lost = body<AgentLost>(event);
  if (nodes_.at(event.node).leaving) return see_off(event);
  const bool had_joined = nodes_.at(event.node).agent == Agent::kJoined;
  std::string text = agents_.loss_in_words(event.node, lost.why);
  agents_.drop(event.node, lost);
  if (!lost.lasting.empty() && !had_joined && !group_.is_formed()) {
    agents_.report_later(event.node);
    return moves_.group_changed();
  }
  // A loss before anything was started costs nothing, unless an agent joins and dies in a loop.
  const bool in_a_loop = nodes_.at(event.node).losses > kAgentLossesForgiven &&
                         nodes_.at(event.node).retry_at <= orders_.now();
  const bool nothing_began = orders_.state() != JobState::kReserving;
  if (had_joined && group_.has(event.node) && (!nothing_began || in_a_loop)) {
    return moves_.setback(Rule::kAgentLost, std::move(text));
  }
  agents_.report_loss(event.node, std::move(text));
  moves_.group_changed();
}

// The agent that had announced its departure is gone.
void AgentNews::see_off(const Event& event) {
  const auto& lost = body<AgentLost>(event);
  const bool waited = orders_.state() == JobState::kBackoff && wait_.awaits_answers();
  agents_.drop(event.node, lost);
  agents_.arm_timer();
  if (is_forming()) return moves_.group_changed();
  if (orders_.state() == JobState::kBackoff) return wait_.node_lost(event.node, waited);
  if (orders_.state() == JobState::kStopping) return stopping_.conclude_if_gone();
  starts_.release();
}

// No worker runs and no node has orders: the wait goes on however many nodes are lost. An agent
// that dies repeatedly is launched again after the wait, not during it.
void AgentNews::lost_waiting(const Event& event) {
  const auto& lost = body<AgentLost>(event);
  if (nodes_.at(event.node).leaving) return see_off(event);
  const bool waited = wait_.awaits_answers();
  std::string text = agents_.loss_in_words(event.node, lost.why);
  agents_.drop(event.node, lost);
  NodeState& node = nodes_.at(event.node);
  if (node.losses > kAgentLossesForgiven) node.retry_at = std::max(node.retry_at, wait_.until());
  agents_.report_loss(event.node, std::move(text));
  wait_.node_lost(event.node, waited);
}

void AgentNews::lost_working(const Event& event) {
  const auto& lost = body<AgentLost>(event);
  if (nodes_.at(event.node).leaving) return see_off(event);
  const bool had_done_its_part = nodes_.at(event.node).ended == group_.plan().slots(event.node);
  std::string text = agents_.loss_in_words(event.node, lost.why);
  agents_.drop(event.node, lost);
  if (!group_.has(event.node)) {
    agents_.report_loss(event.node, std::move(text));
    return starts_.release();
  }
  // All its workers have finished: the node is needed again only for a restart.
  if (had_done_its_part) return starts_.release();
  moves_.break_down(
      infrastructure_fault(Rule::kAgentLost, std::move(text), moves_.context(event.node)));
}

void AgentNews::lost_stopping(const Event& event) {
  const auto& lost = body<AgentLost>(event);
  if (nodes_.at(event.node).leaving) return see_off(event);
  std::string text = agents_.loss_in_words(event.node, lost.why);
  agents_.drop(event.node, lost);
  if (group_.has(event.node)) {
    std::optional<base::Nanos> last_word;
    if (lost.silent > base::Nanos{}) last_word = orders_.now() - lost.silent;
    stopping_.add_fault(
        infrastructure_fault(Rule::kAgentLost, std::move(text), moves_.context(event.node)),
        stopping_.explains_root(event.node, last_word));
  } else {
    orders_.decide(Rule::kSpareChanged, std::move(text));
  }
  if (stopping_.will_restart()) agents_.launch_due();
  stopping_.conclude_if_gone();
}

void AgentNews::lost_finishing(const Event& event) {
  const auto& lost = body<AgentLost>(event);
  agents_.drop(event.node, lost);
  finishing_.finish_if_gone();
}

void AgentNews::timer(const Event&) {
  if (orders_.state() == JobState::kStopping && !stopping_.will_restart()) return;
  agents_.look_after();
  if (orders_.state() == JobState::kJoining) moves_.group_changed();
}

void AgentNews::offered(const Event& event) {
  const auto& offer = body<NodeOffered>(event);
  const bool is_welcome = spec_.group.open || spec_.group.replace > 0;
  if (!is_welcome || nodes_.size() >= kNodesMax) return;
  agents_.launch(nodes_.add_volunteer(offer.spec));
  agents_.arm_timer();
}

}  // namespace robustrun::supervisor
