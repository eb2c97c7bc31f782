#pragma once
// Invariants of agents and groups: launched, admitted and grouped nodes.

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <type_traits>
#include <vector>

#include "supervisor/core/types/limits.h"
#include "tests/sim/rules.h"
#include "tests/sim/trace.h"

namespace robustrun::sim {

class GroupWatch {
 public:
  using Violate = std::function<void(const char* rule, std::string what)>;

  GroupWatch(const core::JobSpec& spec, Violate violate)
      : spec_(spec), nodes_(spec.nodes.size()), violate_(std::move(violate)) {}

  struct Node {
    std::uint32_t generation = 0;
    bool gone = true;                    // no worker of the newest attempt is left
    bool joined = false, lost = false;   // the agent
    bool dismissed = false, perhaps_launched = false;  // unknown: the supervisor died
    bool unfit = false;                  // by a check, or evicted
    bool leaves = false;                 // its agent was told to end
    std::uint32_t returns = 0;           // after that
    Nanos launched_at{}, overdue_at = Nanos::max();  // the answer to StopWorkers
  };
  std::vector<Node>& nodes() { return nodes_; }
  [[nodiscard]] const std::vector<Node>& nodes() const { return nodes_; }
  [[nodiscard]] const std::vector<core::GroupMember>& group() const { return group_; }
  [[nodiscard]] bool is_admitted(base::NodeId node) const {
    if (node.value >= nodes_.size()) return false;
    const Node& there = nodes_[node.value];
    return there.joined && !there.lost && !there.dismissed && !there.unfit && !there.leaves;
  }

  // Comes from an agent that does not count any more, or never did.
  [[nodiscard]] bool is_of_the_past(const core::Event& event) const {
    return std::visit(
        [&](const auto& body) {
          using Body = std::decay_t<decltype(body)>;
          constexpr bool kByAgent =
              std::is_same_v<Body, core::AgentJoined> || std::is_same_v<Body, core::AgentLost> ||
              std::is_same_v<Body, core::PortReserved> || std::is_same_v<Body, core::WorkersGone> ||
              std::is_same_v<Body, core::NodeEnding> ||
              std::is_same_v<Body, core::CheckpointNoted> ||
              std::is_same_v<Body, core::CheckpointDemoted> ||
              std::is_same_v<Body, core::CopiesKept> || std::is_same_v<Body, core::StartStages> ||
              std::is_same_v<Body, core::CheckpointMoved> || requires { body.made_in; } ||
              requires { body.rank; };
          if (!kByAgent || event.node.value >= nodes_.size()) return kByAgent;
          const Node& node = nodes_[event.node.value];
          return event.generation.value != node.generation || node.lost;
        },
        event.body);
  }

  void on_event(const core::Event& event) {
    if (std::holds_alternative<core::SupervisorResumed>(event.body)) {
      for (Node& node : nodes_) node.perhaps_launched = !node.joined;
    }
    if (is_of_the_past(event) || event.node.value >= nodes_.size()) return;
    Node& node = nodes_[event.node.value];
    if (std::holds_alternative<core::AgentJoined>(event.body)) {
      node.joined |= ends_ || event.at < node.launched_at + spec_.deadlines.agent_hello;
    }
    if (std::holds_alternative<core::AgentLost>(event.body)) node.lost = node.gone = true;
    const auto* ending = std::get_if<core::NodeEnding>(&event.body);
    node.leaves = node.leaves || (ending != nullptr && ending->signal != 0);
  }

  void on_action(Nanos now, const core::Action& action) {
    if (const auto* launch = std::get_if<core::LaunchAgent>(&action)) on_launch(now, *launch);
    if (const auto* stop = std::get_if<core::StopWorkers>(&action)) on_stop(now, *stop);
    if (const auto* judged = std::get_if<core::NodesJudged>(&action)) on_judged(*judged);
    if (const auto* replay = std::get_if<core::ReplayNodes>(&action)) on_replay(*replay);
  }

  void on_launch(Nanos now, const core::LaunchAgent& launch) {
    if (launch.node.value == nodes_.size()) nodes_.emplace_back();
    Node& node = nodes_.at(launch.node.value);
    if (launch.generation.value != node.generation + 1) {
      violate_("generations_rise_by_one", words_of(launch));
    }
    if (launch.node.value >= spec_.nodes.size() && node.generation != 0) {
      violate_("volunteers_are_not_launched", words_of(launch));
    }
    const bool mute = !node.joined && now >= node.launched_at + spec_.deadlines.agent_hello;
    const bool is_known = node.generation != 0 && !node.lost && !mute && now < node.overdue_at;
    if (is_known && !node.perhaps_launched && !node.dismissed) {
      violate_("agents_are_replaced_for_a_reason", words_of(launch));
    }
    const bool may_come = !node.unfit || waits_ || node.perhaps_launched;
    if (!may_come) violate_("unfit_nodes_are_left_alone", words_of(launch));
    node = Node{.unfit = node.unfit, .returns = node.returns};
    node.generation = launch.generation.value;
    node.launched_at = now;
  }

  void on_stop(Nanos now, const core::StopWorkers& stop) {
    ends_ = stop.reason == core::StopReason::kStop;
    Node& node = nodes_[stop.node.value];
    node.overdue_at = std::min(node.overdue_at, now + stop.grace + spec_.deadlines.kill_margin);
  }

  void on_dismiss(Nanos now, const core::DismissAgent& dismiss) {
    Node& node = nodes_[dismiss.node.value];
    node.dismissed = true;
    node.gone = node.gone || now >= node.overdue_at;
  }

  void on_judged(const core::NodesJudged& judged) {
    for (const core::NodeVerdict& verdict : judged.verdicts) {
      if (verdict.level == core::Fitness::kUnfit) nodes_.at(verdict.node.value).unfit = true;
    }
  }

  void on_evicted(const core::Decision& decision) {
    for (const base::NodeId id : decision.nodes) {
      Node& node = nodes_.at(id.value);
      node.unfit = decision.rule == core::Rule::kNodeEvicted;
      const bool returns = decision.rule == core::Rule::kNodeReturned;
      if (returns && ++node.returns > core::kReturnsMax) {
        violate_("machines_return_so_often", fmt::format("{} times", node.returns));
      }
    }
  }

  void on_replay(const core::ReplayNodes& replay) {
    if (!replayed_once(replay)) violate_("replays_are_disjoint", words_of(replay));
    for (const auto& group : replay.groups) {
      for (const auto& place : group) {
        // A node lost since the first wave is still named by the next one.
        if (place.node.value >= nodes_.size() || nodes_[place.node.value].dismissed) {
          violate_("replays_are_of_known_nodes", words_of(replay));
        }
      }
    }
  }

  void on_formed(const core::GroupFormed& formed) {
    const auto size = formed.members.size();
    if (size < min_nodes() || size > max_nodes()) {
      violate_("group_is_within_its_bounds", fmt::format("{} nodes", size));
    }
    if (!nodes_are_distinct(formed.members)) violate_("nodes_have_one_place", words_of(formed));
    const bool may_move = spec_.placement == core::PlacementUse::kSurvivorsMayMove;
    if (!may_move && !survivors_keep_their_ranks(group_, formed.members)) {
      violate_("survivors_keep_their_ranks", words_of(formed));
    }
    if (size < max_nodes() && admitted() > size) {
      violate_("spares_are_used", fmt::format("{} nodes are there, {} are used", admitted(), size));
    }
    for (const core::GroupMember& member : formed.members) {
      if (!is_admitted(member.node)) violate_("group_is_of_admitted_nodes", words_of(formed));
    }
    group_ = formed.members;
  }

  void on_wait() {
    waits_ = true;
    if (admitted() >= min_nodes()) {
      violate_("waits_for_want_of_nodes", fmt::format("{} nodes are there", admitted()));
    }
  }

  void on_starts(const StartOrders& starts) {
    waits_ = ends_ = false;
    for (const Node& node : nodes_) {
      if (!node.gone) violate_("no_start_before_all_are_gone", "a node had not reported");
    }
    if (!ranks_are_a_permutation(starts, group_)) violate_("ranks_are_a_permutation", "not so");
    for (Node& node : nodes_) node.overdue_at = Nanos::max();
    for (const auto* start : starts) nodes_[start->node.value].gone = false;
  }

 private:
  [[nodiscard]] std::uint32_t max_nodes() const {
    const auto known = static_cast<std::uint32_t>(spec_.nodes.size());
    if (spec_.group.max_nodes == 0) return known;
    return spec_.group.open ? spec_.group.max_nodes : std::min(spec_.group.max_nodes, known);
  }
  [[nodiscard]] std::uint32_t min_nodes() const {
    return spec_.group.min_nodes == 0 ? max_nodes() : std::min(spec_.group.min_nodes, max_nodes());
  }
  [[nodiscard]] std::size_t admitted() const {
    std::size_t count = 0;
    for (std::uint32_t i = 0; i < nodes_.size(); ++i) count += is_admitted({i}) ? 1 : 0;
    return count;
  }

  core::JobSpec spec_;
  std::vector<Node> nodes_;
  std::vector<core::GroupMember> group_;
  bool waits_ = false, ends_ = false;  // for nodes; the run ends, so hellos do not matter
  Violate violate_;
};

}  // namespace robustrun::sim
