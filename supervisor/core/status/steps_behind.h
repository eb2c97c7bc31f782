#pragma once
// Which ranks are steps behind the others. Pure.

#include <cstdint>

#include "supervisor/core/status/status.h"

namespace robustrun::supervisor {

// A rank is behind if the median is ahead of it by at least two steps, and by at least as many as
// the run does in five seconds. Smaller distances come from reading ranks at different moments.
class StepsBehind {
 public:
  explicit StepsBehind(const RunStatus& status);
  [[nodiscard]] std::uint64_t median() const { return median_; }  // of all ranks
  [[nodiscard]] bool is_behind(std::uint64_t steps) const;

 private:
  std::uint64_t median_ = 0;
  double least_ = 0;  // distance from the median at which a rank counts as behind
};

}  // namespace robustrun::supervisor
