#pragma once
// Which step of its ladder a fault calls for. Pure.
//
// Steps already taken count for all ladders together: an unexplained crash right after a machine
// was evicted is not treated as the first fault. After enough progress they are all forgotten.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "supervisor/core/types/decision.h"
#include "supervisor/core/types/policy.h"

namespace robustrun::supervisor {

// Indexed by Step: why it cannot be taken now.
using Obstacles = std::array<Obstacle, kSteps>;

struct StepChoice {
  Step step = Step::kRestart;
  std::vector<PassedStep> passed;  // the rungs below `step`
};

class Escalation {
 public:
  // The first rung of the action's ladder that may be taken once more and has no obstacle.
  [[nodiscard]] StepChoice choose(const Policy& policy, FirstAction action,
                                  const Obstacles& obstacles) const;
  void take(Step step);
  // `amount`: time in which training steps were done.
  void note_progress(const Policy& policy, base::Nanos amount);

  template <class V>
  void fields(V& v) {
    v(1, "taken", taken_);
    v(2, "progress", progress_);
  }

 private:
  std::array<std::uint32_t, kSteps> taken_{};
  base::Nanos progress_{};  // since a step of a ladder was last taken
};

}  // namespace robustrun::supervisor
