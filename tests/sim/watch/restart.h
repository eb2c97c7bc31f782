#pragma once
// Every restart is either one of the user's, or has something to show for itself.

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
  // What is wrong with one more; empty: nothing.
  [[nodiscard]] std::string on_restart() {
    ++restarts_;
    if (restarts_ <= spec_.restart.max_restarts + disturbances_) return {};
    return fmt::format("{} restarts for {} allowed and {} disturbances", restarts_,
                       spec_.restart.max_restarts, disturbances_);
  }
  void on_decision(const core::Decision& decision) {
    using enum core::Rule;
    if (decision.rule == kBudgetRefilled) {
      restarts_ = 0;  // what disturbed the run may only show later, so that stays
    }
    // Restarts nobody is to blame for.
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
