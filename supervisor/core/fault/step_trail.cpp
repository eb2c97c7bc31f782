// A reading sees a worker ten times a second, so the first one of an attempt may already be many
// steps in: the beginning is found by going back by the count of steps, times the distance of the
// script's numbers. Scripts count from 0 or from 1; both begin at 0.

#include "supervisor/core/fault/step_trail.h"

#include <algorithm>

namespace robustrun::supervisor {

void StepTrail::begin_attempt() {
  if (last_steps_ == 0) return;  // it did none: the attempt before that one counts
  before_ = last_step_;
  std::int64_t distance = 0;
  const std::uint64_t steps = last_steps_ - first_steps_;
  if (steps > 0 && !__builtin_sub_overflow(last_step_, first_step_, &distance) && distance > 0) {
    stride_ = std::max<std::int64_t>(
        1, static_cast<std::int64_t>(static_cast<std::uint64_t>(distance) / steps));
  }
  first_steps_ = last_steps_ = 0;
}

std::optional<std::int64_t> StepTrail::take(std::uint64_t steps, std::int64_t step) {
  if (steps < last_steps_ || steps == 0) return std::nullopt;
  const bool is_first = last_steps_ == 0;
  if (is_first) {
    first_steps_ = steps;
    first_step_ = step;
  }
  last_steps_ = steps;
  last_step_ = step;
  return is_first && before_.value_or(0) > 0 && began_anew() ? before_ : std::nullopt;
}

bool StepTrail::began_anew() const {
  std::int64_t done = 0;
  return !__builtin_mul_overflow(first_steps_, stride_, &done) && first_step_ <= done;
}

}  // namespace robustrun::supervisor
