#pragma once
// What must hold at every event of every run. Observes the core's events and actions and the
// physical truth (processes on each node), and never asks the core itself.

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "tests/sim/claims.h"
#include "tests/sim/hang_truth.h"
#include "tests/sim/rules.h"
#include "tests/sim/trace.h"
#include "tests/sim/watch/copy.h"
#include "tests/sim/watch/group.h"
#include "tests/sim/watch/mark.h"
#include "tests/sim/watch/order.h"
#include "tests/sim/watch/restart.h"
#include "tests/sim/watch/source.h"
#include "tests/sim/watch/takeover.h"

namespace robustrun::sim {

class Invariants : public Claims {
 public:
  explicit Invariants(const core::JobSpec& spec)
      : spec_(spec), groups_(spec, [this](const char* rule, std::string what) {
          violate(rule, std::move(what));
        }) {}
  Invariants(const Invariants&) = delete;
  Invariants& operator=(const Invariants&) = delete;

  [[nodiscard]] const std::set<core::Rule>& rules() const { return rules_; }
  [[nodiscard]] const GroupWatch& groups() const { return groups_; }
  void answered_mark(std::uint64_t order) { marks_.answered(order); }
  [[nodiscard]] SourceWatch& sources() { return sources_; }
  [[nodiscard]] CopyWatch& copies() { return copies_; }
  void answered_save(std::uint64_t order) { copies_.answered(order); }
  void convicted(base::NodeId culprit) { blame_.convicted(culprit); }
  [[nodiscard]] std::uint32_t right_evictions() const { return blame_.evictions(); }

  // Something happened that justifies an uncounted restart.
  void disturbed() { restarts_.disturbed(); }

  void on_event(const core::Event& event) {
    takeover_.on_event(event);
    if (finished_) return;
    if (takeover_.is_now()) orders_.was_away(event.at + core::kReunionMax);
    if (!orders_.ends_in_time(event.at)) violate("stopped_runs_end_in_time", words_of(event));
    orders_.on_event(event);
    blame_.on_event(event);
    sources_.on_event(event, groups_);
    copies_.on_event(event, groups_);
    if (const char* rule = marks_.on_event(event, groups_)) violate(rule, words_of(event));
    groups_.on_event(event);
    const bool current = !groups_.is_of_the_past(event);
    if (const auto* gone = std::get_if<core::WorkersGone>(&event.body)) {
      if (current && gone->attempt.value == attempt_ && !groups_.nodes()[event.node.value].gone) {
        groups_.nodes()[event.node.value].gone = true;
        unkillable_left_ = unkillable_left_ || !gone->unkillable.empty();
      }
    }
    if (const auto* exited = std::get_if<core::WorkerExited>(&event.body)) {
      if (current && exited->attempt.value == attempt_ && exited->status().success()) {
        ended_well_.insert(exited->rank.value);
      }
    }
    if (std::holds_alternative<core::StepGoalReached>(event.body)) goal_reached_ = true;
    solved_.reset();
    if (const auto* solved = std::get_if<core::PlacementSolved>(&event.body)) solved_ = *solved;
  }

  void on_actions(Nanos now, const std::vector<core::Action>& actions) {
    now_ = now;
    is_placed_ = false;
    if (finished_ && takeover_.is_now()) {
      if (!takeover_.ends_as_decided(actions)) violate("the_end_is_as_decided", "another one");
      return;
    }
    if (finished_ && !actions.empty()) {
      return violate("one_finish_and_nothing_after", words_of(actions.front()));
    }
    StartOrders starts;
    std::set<base::NodeId> dismissed;
    std::vector<core::PlaceCopies> places;
    for (const core::Action& action : actions) {
      if (const auto* place = std::get_if<core::PlaceCopies>(&action)) {
        sources_.on_order(places.emplace_back(*place));
      }
      if (finished_) return violate("one_finish_and_nothing_after", words_of(action));
      if (const auto* start = std::get_if<core::StartWorkers>(&action)) starts.push_back(start);
      if (const char* rule = orders_.on_action(action)) violate(rule, words_of(action));
      if (!blame_.is_right(action)) violate("the_right_machine_goes", words_of(action));
      groups_.on_action(now, action);
      if (const char* rule = marks_.on_action(now, action)) violate(rule, words_of(action));
      copies_.on_action(now, action);
      if (const auto* asked = std::get_if<core::SolvePlacement>(&action)) asked_ = asked->digest;
      if (const auto* formed = std::get_if<core::GroupFormed>(&action)) {
        groups_.on_formed(*formed);
        if (is_placed_ && !is_placed_as_solved(*solved_, formed->members)) {
          violate("places_are_as_solved", words_of(action));
        }
      }
      if (const auto* decision = std::get_if<core::Decision>(&action)) on_decision(*decision);
      if (const auto* dismiss = std::get_if<core::DismissAgent>(&action)) {
        groups_.on_dismiss(now, *dismiss);
        dismissed.insert(dismiss->node);
      }
      if (const auto* finish = std::get_if<core::Finish>(&action)) on_finish(*finish, dismissed);
    }
    if (const std::string why = copies_.end_of_actions(); !why.empty()) {
      violate("copies_have_one_keeper_elsewhere", why);
    }
    if (starts.empty()) return;
    if (takeover_.is_repetition(starts)) {
      const bool is_same = takeover_.are_the_same(starts);
      if (!is_same) violate("orders_are_repeated_as_they_were", words_of(*starts.front()));
      return;
    }
    takeover_.ordered(starts);
    on_starts(starts);
    const std::string lost = sources_.on_starts(starts, places, groups_);
    if (!lost.empty()) violate("copies_are_fetched_from_where_they_are", lost);
  }

 private:
  void on_starts(const StartOrders& starts) {
    attempts_rise(*starts.front());
    groups_.on_starts(starts);
    if (!copies_.may_start(now_, groups_)) violate("nothing_starts_before_copies_are_saved", "so");
    const bool is_marked = marks_.starts(now_, starts.front()->attempt);
    if (!is_marked) violate("nothing_starts_before_the_mark", "it did");
    if (unkillable_left_) violate("nothing_starts_beside_the_unkillable", "it did");
    if (!master_is_the_same_everywhere(starts)) violate("master_is_the_same_everywhere", "not so");
    const std::string excess = attempt_ ? restarts_.on_restart() : std::string();
    if (!excess.empty()) violate("budget_is_kept", excess);
    attempt_ = starts.front()->attempt.value;
    ended_well_.clear();
    goal_reached_ = false;
  }

  void attempts_rise(const core::StartWorkers& start) {
    if (attempt_ && start.attempt.value <= *attempt_) violate("attempts_rise", words_of(start));
  }
  void on_decision(const core::Decision& decision) {
    rules_.insert(decision.rule);
    if (decision.text.empty()) violate("decisions_say_why", "an empty sentence");
    restarts_.on_decision(decision);
    groups_.on_evicted(decision);
    if (decision.rule == core::Rule::kMetricFault) ++metric_faults_;
    if (metric_faults_ > spec_.policy.alarms_acted_on) violate("alarms_act_so_often", "too often");
    if (decision.rule == core::Rule::kWaitForNodes) groups_.on_wait();
    if (decision.rule == core::Rule::kPlaced) {
      is_placed_ = solved_ && solved_->digest == asked_;
      if (!is_placed_) violate("places_are_as_solved", "no answer, or to another question");
    }
  }

  void on_finish(const core::Finish& finish, const std::set<base::NodeId>& dismissed) {
    finished_ = true;
    takeover_.finished(finish.exit_code);
    orders_.finished();
    const auto& nodes = groups_.nodes();
    if (dismissed.size() != nodes.size()) {
      violate("agents_are_dismissed", fmt::format("{} of {}", dismissed.size(), nodes.size()));
    }
    for (const GroupWatch::Node& node : nodes) {
      if (!node.gone && now_ < node.overdue_at) violate("nothing_outlives_the_run", "no report");
    }
    const bool done = goal_reached_ || ended_well_.size() == world_size_of(groups_.group());
    if (finish.exit_code == 0 && !done) violate("success_is_true", "not every rank ended well");
    if (spec_.compat && finish.exit_code > 1 && finish.exit_code != 124) {
      violate("compat_knows_one_failure", words_of(finish));
    }
  }

  core::JobSpec spec_;
  GroupWatch groups_;
  MarkWatch marks_{spec_};
  CopyWatch copies_;
  OrderWatch orders_{spec_};
  BlameWatch blame_;
  SourceWatch sources_;
  RestartWatch restarts_{spec_};
  Nanos now_{};
  std::optional<std::uint32_t> attempt_;  // newest started
  std::set<std::uint32_t> ended_well_;
  bool goal_reached_ = false, unkillable_left_ = false, finished_ = false;
  std::optional<core::PlacementSolved> solved_;  // the event, if it is that
  std::uint64_t asked_ = 0;  // digest of the newest question
  bool is_placed_ = false;  // by the actions of this event
  std::uint32_t metric_faults_ = 0;
  TakeoverWatch takeover_;
  std::set<core::Rule> rules_;  // that were decided by
};

}  // namespace robustrun::sim
