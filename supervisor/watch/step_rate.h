#pragma once
// Steps per second over the last kStepRateWindow. Pure; the caller gives the time.

#include <cstdint>
#include <deque>
#include <optional>

#include "base/core/clock.h"

namespace robustrun::supervisor {

class StepRate {
 public:
  // `steps` are done at `at`. Fewer than before: another attempt has begun.
  void note(base::Nanos at, std::uint64_t steps);
  // nullopt until kStepRateSample after the first step. Falls towards 0 while note() brings no new
  // steps.
  [[nodiscard]] std::optional<double> per_second(base::Nanos now) const;

 private:
  struct Sample {
    base::Nanos at{};
    std::uint64_t steps = 0;
  };
  std::deque<Sample> samples_;  // kStepRateSample apart, oldest first
  std::uint64_t newest_ = 0;
};

}  // namespace robustrun::supervisor
