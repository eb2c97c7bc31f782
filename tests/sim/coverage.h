#pragma once
// Which rows of the policy's ladders a run has come to: told by what is decided, as a user could
// tell it. A restart names every rung below its own that was passed over; the fault's first action
// is the ladder. And whether a rung is taken more often than it may be.

#include <array>
#include <compare>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "supervisor/core/job/job.h"
#include "tests/sim/event_queue.h"

namespace robustrun::sim {

namespace core = supervisor;

struct PolicyRow {
  core::FirstAction ladder{};
  std::size_t rung = 0;
  auto operator<=>(const PolicyRow&) const = default;
};

// "tolerate, rung 3: check"
inline std::string words_of(const core::Ladder& ladder, std::size_t rung) {
  return std::string(core::to_string(ladder.action)) + ", rung " + std::to_string(rung + 1) + ": " +
         core::to_string(ladder.rungs[rung].step);
}

class Coverage {
 public:
  // `policy` outlives it.
  explicit Coverage(const core::Policy& policy) : policy_(policy) {}

  // Progress, after which what was done may be forgotten.
  void on_event(const core::Event& event) {
    const auto* timer = std::get_if<core::TimerFired>(&event.body);
    const bool is_progress = std::holds_alternative<core::Progress>(event.body) ||
                             (timer != nullptr && timer->id == core::TimerId::kUptime);
    if (is_progress && event.at - last_at_ >= policy_.forgotten_after) taken_.fill(0);
  }

  // What is done more often than its rung says; empty: nothing.
  [[nodiscard]] std::string on_actions(Nanos now, const std::vector<core::Action>& actions) {
    if (!policy_.is_on()) return {};
    std::string excess;
    std::optional<core::Step> step;  // that these actions show
    for (const core::Action& action : actions) {
      const auto* decision = std::get_if<core::Decision>(&action);
      const auto* start = std::get_if<core::StartWorkers>(&action);
      if (start != nullptr && start->attempt != attempt_) {
        attempt_ = start->attempt;
        is_one_out_ = false;
      }
      if (decision == nullptr) continue;
      if (is_of_a_fault(decision->rule) && decision->looks_like) looks_ = decision->looks_like;
      if (decision->rule == core::Rule::kNodeEvicted) {
        step = core::Step::kEvict;
        is_one_out_ = true;
      }
      if (decision->rule == core::Rule::kStopTimeCheck) step = core::Step::kCheck;
      if (decision->rule == core::Rule::kRolledBack) step = core::Step::kRollBack;
      if (decision->rule == core::Rule::kReplay) step = core::Step::kReplay;
      if (decision->rule == core::Rule::kRestart) {
        // A restart with another version, because the present one is to blame, is on no ladder.
        const bool is_a_rung = decision->answer != core::Answer::kVersionRestart;
        const core::Step taken =
            is_a_rung ? step.value_or(core::Step::kRestart) : core::Step::kRestart;
        if (is_a_rung) excess = climbed(decision->passed.size(), taken);
        looks_.reset();
        ++taken_[static_cast<std::size_t>(taken)];
        last_at_ = now;
      } else if (decision->answer == core::Answer::kGivenUpByPolicy) {
        excess = climbed(decision->passed.size(), core::Step::kGiveUp);
      }
    }
    return excess;
  }
  [[nodiscard]] const std::set<PolicyRow>& rows() const { return rows_; }

 private:
  static bool is_of_a_fault(core::Rule rule) {
    using enum core::Rule;
    return rule == kWorkerFailed || rule == kStartFailed || rule == kAgentLost ||
           rule == kMachineFault || rule == kHangConvicted || rule == kMetricFault ||
           rule == kMismatch || rule == kRestart || rule == kBudgetExhausted ||
           rule == kInfrastructureGivenUp;
  }
  // What was done for another reason (a machine that is blamed too often, an update) is no rung.
  [[nodiscard]] std::string climbed(std::size_t rung, core::Step step) {
    if (!looks_) return {};
    const std::uint32_t times = taken_[static_cast<std::size_t>(step)];
    std::string excess;
    for (const core::Ladder& ladder : policy_.ladders) {
      const bool is_it = ladder.action == looks_->action && rung < ladder.rungs.size() &&
                         ladder.rungs[rung].step == step;
      if (!is_it) continue;
      rows_.insert({ladder.action, rung});
      const std::uint32_t most = ladder.rungs[rung].times;
      // Where the machine to blame is out already, no ladder is asked, and it looks like rung 1.
      if (most == 0 || times < most || (is_one_out_ && rung == 0)) continue;
      excess = words_of(ladder, rung) + ", which was done " + std::to_string(times) + " times";
    }
    return excess;
  }

  const core::Policy& policy_;
  std::optional<core::Classification> looks_;  // the fault under way
  std::set<PolicyRow> rows_;
  std::array<std::uint32_t, core::kSteps> taken_{};  // since it was forgotten
  Nanos last_at_{};
  std::optional<base::Attempt> attempt_;  // that was started last
  bool is_one_out_ = false;  // a machine was evicted since then
};

}  // namespace robustrun::sim
