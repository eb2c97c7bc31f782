#pragma once
// The script's own step numbers over restarts: whether an attempt continues from the steps of the
// attempt before. Pure.

#include <cstdint>
#include <optional>

namespace robustrun::supervisor {

class StepTrail {
 public:
  void begin_attempt();
  // A reading: `steps` (at least 1) are done in this attempt, the last one has the number `step`.
  // Returns once in an attempt, if this one began with step 0 although steps had been done, the
  // last step of the attempt before. nullopt: it continued, or that is not known.
  std::optional<std::int64_t> take(std::uint64_t steps, std::int64_t step);

  template <class V>
  void fields(V& v) {
    v(1, "before", before_);
    v(2, "stride", stride_);
    v(3, "first_steps", first_steps_);
    v(4, "first_step", first_step_);
    v(5, "last_steps", last_steps_);
    v(6, "last_step", last_step_);
  }

 private:
  [[nodiscard]] bool began_anew() const;

  std::optional<std::int64_t> before_;  // last step of the newest earlier attempt that did steps
  std::int64_t stride_ = 1;  // of the numbers: 10 when the script gives every tenth
  std::uint64_t first_steps_ = 0, last_steps_ = 0;  // readings of this attempt; 0: none
  std::int64_t first_step_ = 0, last_step_ = 0;
};

}  // namespace robustrun::supervisor
