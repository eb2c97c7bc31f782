#pragma once
// Every restart is counted against the user's budget, or has a reason.

#include <fmt/core.h>

#include <cstdint>
#include <string>

#include "supervisor/core/job/job.h"

namespace robustrun::sim {

namespace core = supervisor;

class RestartWatch {
 public:
  explicit RestartWatch(const core::JobSpec& spec) : spec_(spec) {}

  void disturbed() { ++disturbances_; }
  // Returns what is wrong with one more restart; empty: nothing.
  [[nodiscard]] std::string on_restart() {
    ++restarts_;
    if (restarts_ <= spec_.restart.max_restarts + disturbances_) return {};
    return fmt::format("{} restarts for {} allowed and {} disturbances", restarts_,
                       spec_.restart.max_restarts, disturbances_);
  }
  void on_decision(const core::Decision& decision) {
    using enum core::Rule;
    if (decision.rule == kBudgetRefilled) {
      restarts_ = 0;  // disturbances stay: they may only show later
    }
    // Restarts without a fault.
    if (decision.rule == kGroupGrew || decision.rule == kUpdating ||
        decision.rule == kSlowEvicted || decision.rule == kRolledBack ||
        decision.rule == kUpdated || decision.rule == kNodeEvicted) {
      ++disturbances_;
    }
  }

 private:
  const core::JobSpec& spec_;
  std::uint64_t restarts_ = 0, disturbances_ = 0;  // since the budget was last full
};

}  // namespace robustrun::sim
