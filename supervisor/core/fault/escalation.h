#pragma once
// Which step of its ladder a fault calls for. Pure.
//
// What was done before counts for all ladders together: a crash that nobody understands, right
// after a machine was evicted, is not answered as if it were the first one. After enough progress
// all of it is forgotten.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "supervisor/core/types/policy.h"

namespace robustrun::supervisor {

// By Step: why it cannot be done now; empty: it can.
using Obstacles = std::array<std::string, kSteps>;

struct StepChoice {
  Step step = Step::kRestart;
  std::vector<std::string> passed;  // rungs below it that were not taken: "check: was done once"
};

class Escalation {
 public:
  // The first rung that was not taken as often as it says and that nothing stands in the way of.
  [[nodiscard]] StepChoice choose(const Policy& policy, FirstAction action,
                                  const Obstacles& obstacles) const;
  void take(Step step);
  // `amount` of time in which steps of training were done.
  void note_progress(const Policy& policy, base::Nanos amount);

  template <class V>
  void fields(V& v) {
    v(1, "taken", taken_);
    v(2, "progress", progress_);
  }

 private:
  std::array<std::uint32_t, kSteps> taken_{};
  base::Nanos progress_{};  // since the last step
};

}  // namespace robustrun::supervisor
