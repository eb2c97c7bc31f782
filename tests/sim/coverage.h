#pragma once
// Which rows of the policy's ladders a run has come to: told by what is decided, as a user could
// tell it. A restart names every rung below its own that was passed over; the fault's first action
// is the ladder.

#include <compare>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "supervisor/core/job.h"

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

  void on_actions(const std::vector<core::Action>& actions) {
    if (!policy_.is_on()) return;
    std::optional<core::Step> step;  // that these actions show
    for (const core::Action& action : actions) {
      const auto* decision = std::get_if<core::Decision>(&action);
      if (decision == nullptr) continue;
      if (is_of_a_fault(decision->rule) && decision->looks_like) looks_ = decision->looks_like;
      if (decision->rule == core::Rule::kNodeEvicted) step = core::Step::kEvict;
      if (decision->rule == core::Rule::kStopTimeCheck) step = core::Step::kCheck;
      if (decision->rule == core::Rule::kRolledBack) step = core::Step::kRollBack;
      if (decision->rule == core::Rule::kReplay) step = core::Step::kReplay;
      if (decision->rule == core::Rule::kRestart) {
        // The last alternative is always the end of the run.
        climbed(decision->alternatives.size() - 1, step.value_or(core::Step::kRestart));
        looks_.reset();
      } else if (decision->text.starts_with("no restart: it would not help")) {
        climbed(decision->alternatives.size(), core::Step::kGiveUp);
      }
    }
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
  void climbed(std::size_t rung, core::Step step) {
    if (!looks_) return;
    for (const core::Ladder& ladder : policy_.ladders) {
      const bool is_it = ladder.action == looks_->action && rung < ladder.rungs.size() &&
                         ladder.rungs[rung].step == step;
      if (is_it) rows_.insert({ladder.action, rung});
    }
  }

  const core::Policy& policy_;
  std::optional<core::Classification> looks_;  // the fault under way
  std::set<PolicyRow> rows_;
};

}  // namespace robustrun::sim
