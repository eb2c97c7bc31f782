#pragma once
// Chooses the step of the policy's ladder (policy.h) that answers a fault. Pure.
//
// Each step that was taken counts for all ladders: an unexplained crash right after a machine was
// evicted is not treated as the first fault. After Policy::forgotten_after of progress all steps
// are forgotten.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "supervisor/core/types/decision.h"
#include "supervisor/core/types/policy.h"

namespace robustrun::supervisor {

// Why each step cannot be taken now (kNone: it can), indexed by Step.
using Obstacles = std::array<Obstacle, kSteps>;

struct StepChoice {
  Step step = Step::kRestart;
  std::vector<PassedStep> passed;  // rungs that were passed over
};

class Escalation {
 public:
  // The first rung of the action's ladder that may be taken once more and has no obstacle. If there
  // is no such rung, or no ladder: kRestart.
  [[nodiscard]] StepChoice choose(const Policy& policy, FirstAction action,
                                  const Obstacles& obstacles) const;
  void take(Step step);
  // `amount`: time of progress since the last call.
  void note_progress(const Policy& policy, base::Nanos amount);

  template <class V>
  void fields(V& v) {
    v(1, "taken", taken_);
    v(2, "progress", progress_);
  }

 private:
  std::array<std::uint32_t, kSteps> taken_{};
  base::Nanos progress_{};  // since a step was last taken
};

}  // namespace robustrun::supervisor
