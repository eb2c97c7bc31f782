#pragma once
// What must hold at every event of every run. Watches the core's words (events in, actions out)
// and the physical truth (who lives on which node), and never asks the core itself.

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/rules.h"
#include "tests/sim/trace.h"

namespace robustrun::sim {

class Invariants {
 public:
  explicit Invariants(const core::JobSpec& spec)
      : spec_(spec), nodes_(spec.nodes.size()), world_size_(world_size_of(spec)) {}

  struct Violation {
    std::string rule, what;
  };
  [[nodiscard]] const std::optional<Violation>& violation() const { return violation_; }
  [[nodiscard]] const std::set<core::Rule>& rules() const { return rules_; }

  // Something happened for which an uncounted restart is due.
  void disturbed() { ++disturbances_; }

  void on_event(const core::Event& event) {
    if (finished_) return;
    const auto node = event.node.value;
    const bool current = node < nodes_.size() && event.generation.value == nodes_[node].generation;
    if (std::holds_alternative<core::AgentJoined>(event.body) && current) {
      nodes_[node].joined = true;
    }
    if (std::holds_alternative<core::AgentLost>(event.body) && current) {
      nodes_[node].lost = nodes_[node].gone = true;
    }
    if (const auto* gone = std::get_if<core::WorkersGone>(&event.body)) {
      if (current && gone->attempt.value == attempt_ && !nodes_[node].gone) {
        nodes_[node].gone = true;
        unkillable_left_ = unkillable_left_ || !gone->unkillable.empty();
      }
    }
    if (const auto* exited = std::get_if<core::WorkerExited>(&event.body)) {
      if (current && exited->attempt.value == attempt_ && exited->status().success()) {
        ended_well_.insert(exited->rank.value);
      }
    }
    if (std::holds_alternative<core::StepGoalReached>(event.body)) goal_reached_ = true;
  }

  void on_actions(Nanos now, const std::vector<core::Action>& actions) {
    now_ = now;
    if (finished_ && !actions.empty()) {
      return violate("one_finish_and_nothing_after", words_of(actions.front()));
    }
    std::vector<const core::StartWorkers*> starts;
    for (const core::Action& action : actions) {
      if (finished_) return violate("one_finish_and_nothing_after", words_of(action));
      if (const auto* start = std::get_if<core::StartWorkers>(&action)) starts.push_back(start);
      if (const auto* launch = std::get_if<core::LaunchAgent>(&action)) on_launch(*launch);
      if (const auto* stop = std::get_if<core::StopWorkers>(&action)) on_stop(*stop);
      if (const auto* decision = std::get_if<core::Decision>(&action)) on_decision(*decision);
      if (std::holds_alternative<core::DismissAgent>(action)) ++dismissed_;
      if (const auto* finish = std::get_if<core::Finish>(&action)) on_finish(*finish);
    }
    if (!starts.empty()) on_starts(starts);
  }

  void never_two_attempts_alive(bool another_alive, base::NodeId node, base::Attempt attempt) {
    if (!another_alive) return;
    violate("never_two_attempts_alive",
            fmt::format("node {} runs attempt {} beside an older one", node.value, attempt.value));
  }
  void every_wait_has_a_deadline(bool so, core::JobState state) {
    if (!so) violate("every_wait_has_a_deadline", core::to_string(state));
  }
  void replay_restores_the_state(bool same) {
    if (!same) violate("replay_restores_the_state", "the journal's fold differs from the job");
  }
  void every_run_ends(bool ended) {
    if (!ended) violate("every_run_ends", "the run goes on for ever");
  }
  void nothing_outlives_the_run(bool alive) {
    if (alive) violate("nothing_outlives_the_run", "a worker lives after the end");
  }

 private:
  struct Node {
    std::uint32_t generation = 0;
    bool gone = true;
    bool joined = false, lost = false;   // the agent
    Nanos launched_at{};
    Nanos overdue_at = Nanos::max();     // of the answer to StopWorkers
  };

  // A new generation means that the former agent is killed, and its workers with it.
  void on_launch(const core::LaunchAgent& launch) {
    Node& node = nodes_[launch.node.value];
    if (launch.generation.value != node.generation + 1) {
      violate("generations_rise_by_one", words_of(launch));
    }
    agents_are_replaced_for_a_reason(node, launch);
    node = Node{};
    node.generation = launch.generation.value;
    node.launched_at = now_;
  }
  void agents_are_replaced_for_a_reason(const Node& node, const core::LaunchAgent& launch) {
    const bool mute = !node.joined && now_ >= node.launched_at + spec_.deadlines.agent_hello;
    if (node.generation == 0 || node.lost || mute || now_ >= node.overdue_at) return;
    violate("agents_are_replaced_for_a_reason", words_of(launch));
  }

  void on_stop(const core::StopWorkers& stop) {
    Node& node = nodes_[stop.node.value];
    node.overdue_at = std::min(node.overdue_at, now_ + stop.grace + spec_.deadlines.kill_margin);
  }

  void on_starts(const std::vector<const core::StartWorkers*>& starts) {
    attempts_rise(*starts.front());
    no_start_before_all_are_gone();
    if (unkillable_left_) violate("nothing_starts_beside_the_unkillable", "it did");
    if (!ranks_are_a_permutation(starts, spec_)) violate("ranks_are_a_permutation", "not so");
    if (!master_is_the_same_everywhere(starts)) violate("master_is_the_same_everywhere", "not so");
    budget_is_kept();
    attempt_ = starts.front()->attempt.value;
    ended_well_.clear();
    goal_reached_ = false;
    for (Node& node : nodes_) {
      node.gone = false;
      node.overdue_at = Nanos::max();
    }
  }

  void attempts_rise(const core::StartWorkers& start) {
    if (attempt_ && start.attempt.value <= *attempt_) violate("attempts_rise", words_of(start));
  }
  void no_start_before_all_are_gone() {
    for (const Node& node : nodes_) {
      if (!node.gone) violate("no_start_before_all_are_gone", "a node had not reported");
    }
  }
  // Every restart is either one of the user's, or has something to show for itself.
  void budget_is_kept() {
    if (!attempt_) return;
    ++restarts_;
    if (restarts_ > spec_.restart.max_restarts + disturbances_) {
      violate("budget_is_kept", fmt::format("{} restarts for {} allowed and {} disturbances",
                                            restarts_, spec_.restart.max_restarts, disturbances_));
    }
  }

  void on_decision(const core::Decision& decision) {
    rules_.insert(decision.rule);
    if (decision.text.empty()) violate("decisions_say_why", "an empty sentence");
    if (decision.rule == core::Rule::kBudgetRefilled) {
      restarts_ = 0;  // what disturbed the run may only show later, so that stays
    }
  }

  void on_finish(const core::Finish& finish) {
    finished_ = true;
    if (dismissed_ != nodes_.size()) {
      violate("agents_are_dismissed", fmt::format("{} of {}", dismissed_, nodes_.size()));
    }
    for (const Node& node : nodes_) {
      if (!node.gone && now_ < node.overdue_at) violate("nothing_outlives_the_run", "no report");
    }
    const bool done = goal_reached_ || ended_well_.size() == world_size_;
    if (finish.exit_code == 0 && !done) violate("success_is_true", "not every rank ended well");
    if (spec_.compat && finish.exit_code > 1 && finish.exit_code != 124) {
      violate("compat_knows_one_failure", words_of(finish));
    }
  }

  void violate(const char* rule, std::string what) {
    if (!violation_) violation_ = Violation{rule, std::move(what)};
  }

  core::JobSpec spec_;
  std::vector<Node> nodes_;
  std::uint32_t world_size_;
  Nanos now_{};
  std::optional<std::uint32_t> attempt_;   // newest started
  std::set<std::uint32_t> ended_well_;
  bool goal_reached_ = false, unkillable_left_ = false, finished_ = false;
  std::size_t dismissed_ = 0;
  std::uint64_t restarts_ = 0;   // since the budget was last full
  std::uint64_t disturbances_ = 0;
  std::set<core::Rule> rules_;   // that were decided by
  std::optional<Violation> violation_;
};

}  // namespace robustrun::sim
