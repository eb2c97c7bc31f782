#include "supervisor/watch/step_rate.h"

#include "supervisor/limits.h"

namespace robustrun::supervisor {

void StepRate::note(base::Nanos at, std::uint64_t steps) {
  if (steps < newest_) samples_.clear();
  newest_ = steps;
  if (steps == 0) return;
  if (samples_.empty() || at - samples_.back().at >= kStepRateSample)
    samples_.push_back({at, steps});
  // One that is older stays, or a slow job would have none to count from.
  while (samples_.size() > 2 && at - samples_[1].at >= kStepRateWindow) samples_.pop_front();
}

std::optional<double> StepRate::per_second(base::Nanos now) const {
  if (samples_.empty() || now - samples_.front().at < kStepRateSample) return std::nullopt;
  const Sample& first = samples_.front();
  return static_cast<double>(newest_ - first.steps) /
         std::chrono::duration<double>(now - first.at).count();
}

}  // namespace robustrun::supervisor
