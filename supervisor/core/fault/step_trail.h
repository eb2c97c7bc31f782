#pragma once
// The script's own step numbers over restarts: they show whether an attempt continues from the
// steps of the attempt before. Pure.

#include <cstdint>
#include <optional>

namespace robustrun::supervisor {

class StepTrail {
 public:
  void begin_attempt();
  // A reading: the attempt has done `steps` steps, and the last one has the number `step`. If the
  // first reading of an attempt shows that the attempt began with step 0 although steps had been
  // done before, returns the last step of the newest earlier attempt that did steps. Otherwise
  // nullopt.
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
  std::int64_t stride_ = 1;  // growth of the number per step: 10 if the script gives every tenth
  std::uint64_t first_steps_ = 0, last_steps_ = 0;  // readings of this attempt; 0: none
  std::int64_t first_step_ = 0, last_step_ = 0;
};

}  // namespace robustrun::supervisor
