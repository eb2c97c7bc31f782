#include "supervisor/core/job/nodes/agents.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

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
  state_of.ending = state_of.bad_input = state_of.unreported = false;
  state_of.lasting.clear();
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

void Agents::drop(base::NodeId node, const AgentLost& how) {
  NodeState& dropped = nodes_.at(node);
  dropped.bad_input = how.bad_input;
  if (dropped.agent == Agent::kLaunched) {
    ++dropped.failed_launches;
  } else if (!dropped.leaving) {
    ++dropped.losses;
  }
  nodes_.set_presence(dropped, Agent::kLost, dropped.unfit);
  if (!dropped.leaving) dropped.trouble = how.why;
  dropped.lasting = dropped.leaving ? std::string() : how.lasting;
  copies_.lose(node);
  workers_.lose(node);
  const std::uint32_t troubles = dropped.losses + dropped.failed_launches;
  const bool needed = nodes_.there() + nodes_.coming() < nodes_.min_wanted();  // the others
  const bool at_once = how.node_answers && how.lasting.empty() &&
                       dropped.failed_launches < kAgentLaunchesMax &&
                       (troubles <= kAgentLossesForgiven || needed);
  const bool is_over = spec_.nodes[node.value].volunteer || dropped.unfit || how.gone;
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

void Agents::report_later(base::NodeId node) {
  nodes_.at(node).unreported = true;
  arm_timer();
}

void Agents::report_failed_starts() {
  std::vector<base::NodeId> unreported;
  for (const base::NodeId node : nodes_.not_there()) {
    if (std::exchange(nodes_.at(node).unreported, false)) unreported.push_back(node);
  }
  for (const Alike& group : alike(unreported)) {
    const base::NodeId first = group.nodes.front();
    const bool is_missed =
        std::ranges::any_of(group.nodes, [&](base::NodeId node) { return group_.has(node); });
    std::string text =
        fmt::format("the agent{} of {} cannot be started: {}", group.nodes.size() == 1 ? "" : "s",
                    nodes_.names(group.nodes), trouble_of(group));
    const base::Nanos retry_at = nodes_.at(first).retry_at;
    if (retry_at != kNever && retry_at > orders_.now() && may_be_awaited()) {
      text += fmt::format(
          "; launching {} again in {}", group.nodes.size() == 1 ? "it" : "them",
          base::in_seconds(std::chrono::ceil<std::chrono::seconds>(retry_at - orders_.now())));
    }
    orders_.decide(is_missed ? Rule::kAgentLost : Rule::kSpareChanged, std::move(text));
  }
}

std::vector<Agents::Alike> Agents::alike(const std::vector<base::NodeId>& nodes) const {
  std::vector<Alike> groups;
  std::map<std::string_view, std::size_t> known;
  for (const base::NodeId node : nodes) {
    const NodeState& of = nodes_.at(node);
    const std::string& key = of.lasting.empty() ? of.trouble : of.lasting;
    const auto [place, is_new] = known.try_emplace(key, groups.size());
    if (is_new) groups.emplace_back();
    Alike& group = groups[place->second];
    if (!is_new && of.trouble != nodes_.at(group.nodes.front()).trouble) group.is_same = false;
    group.nodes.push_back(node);
  }
  return groups;
}

std::string Agents::trouble_of(const Alike& nodes) const {
  const NodeState& first = nodes_.at(nodes.nodes.front());
  if (nodes.is_same) return first.trouble;
  return fmt::format("{}: {}; alike for the others", nodes_.name(nodes.nodes.front()),
                     first.trouble);
}

Evidence Agents::troubles() const {
  std::vector<base::NodeId> lost;
  for (const base::NodeId node : nodes_.not_there()) {
    if (!nodes_.at(node).trouble.empty()) lost.push_back(node);
  }
  Evidence lines;
  for (const Alike& group : alike(lost)) {
    lines.add(fmt::format("{}: {}", nodes_.names(group.nodes), trouble_of(group)));
  }
  return lines;
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
    drop(node, AgentLost{why});
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
