#pragma once
// Users' orders must be carried out: a stopped run starts nothing more and ends in time; the next
// attempt has the version that was ordered last; an abandoned version is not used again unless a
// user orders it.

#include <algorithm>
#include <optional>
#include <set>
#include <string>

#include "supervisor/core/job/job.h"
#include "tests/sim/event_queue.h"

namespace robustrun::sim {

namespace core = supervisor;

class OrderWatch {
 public:
  explicit OrderWatch(const core::JobSpec& spec) : spec_(spec) {}

  void on_event(const core::Event& event) {
    asked_.reset();
    is_takeover_ = std::holds_alternative<core::SupervisorResumed>(event.body);
    if (const auto* update = std::get_if<core::UpdateRequested>(&event.body)) {
      asked_ = update->version;
    }
    const auto* signal = std::get_if<core::SignalReceived>(&event.body);
    if (signal == nullptr || signal->forward_only || !began_) return;
    const Nanos grace = signal->grace.value_or(spec_.deadlines.shutdown_grace);
    if (!ends_by_) ends_by_ = event.at + grace + spec_.deadlines.kill_margin;
  }
  // Returns what is wrong with an action; nullptr: nothing.
  [[nodiscard]] const char* on_action(const core::Action& action) {
    if (std::holds_alternative<core::LaunchAgent>(action)) {
      began_ = true;
      return ends_by_ ? "stopped_runs_start_nothing" : nullptr;
    }
    if (const auto* decision = std::get_if<core::Decision>(&action)) on_decision(*decision);
    const auto* start = std::get_if<core::StartWorkers>(&action);
    if (start == nullptr) return nullptr;
    const bool is_release = waits_ && !start->saving;  // of workers that are there
    if ((is_takeover_ || is_release) && start->attempt == attempt_) return nullptr;
    attempt_ = start->attempt;
    waits_ = start->saving;
    if (ends_by_) return "stopped_runs_start_nothing";
    if (wanted_ && start->version != *wanted_) return "updates_are_used";
    if (given_up_.contains(start->version)) return "given_up_versions_stay_so";
    present_ = start->version;
    return nullptr;
  }
  void finished() { ends_by_.reset(); }
  [[nodiscard]] bool ends_in_time(Nanos now) const { return !ends_by_ || now <= *ends_by_; }
  // The supervisor was away until then: its successor must end the run.
  void was_away(Nanos until) {
    if (ends_by_) ends_by_ = std::max(*ends_by_, until);
  }

 private:
  void on_decision(const core::Decision& decision) {
    if (decision.rule == core::Rule::kUpdated && asked_) {
      wanted_ = *asked_;
      given_up_.erase(*asked_);
    }
    if (decision.rule != core::Rule::kRolledBack) return;
    wanted_.reset();
    given_up_.insert(present_);
  }

  const core::JobSpec& spec_;
  bool began_ = false, is_takeover_ = false;
  bool waits_ = false;  // that attempt waits with its checkpoints
  std::optional<base::Attempt> attempt_;  // started last
  std::optional<Nanos> ends_by_;  // deadline after an order to end the run
  std::optional<std::uint32_t> asked_;  // by the event
  std::optional<std::uint32_t> wanted_;
  std::set<std::uint32_t> given_up_;
  std::uint32_t present_ = 0;
};

}  // namespace robustrun::sim
