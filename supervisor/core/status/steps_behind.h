#pragma once
// Which ranks are steps behind the others. Pure.

#include <cstdint>

#include "supervisor/core/status/status.h"

namespace robustrun::supervisor {

// Ranks are read at slightly different moments: a step apart is together, and so is what takes less
// than five seconds.
class StepsBehind {
 public:
  explicit StepsBehind(const RunStatus& status);
  [[nodiscard]] std::uint64_t median() const { return median_; }  // of all ranks
  [[nodiscard]] bool is_behind(std::uint64_t steps) const;

 private:
  std::uint64_t median_ = 0;
  double least_ = 0;  // so many steps are behind
};

}  // namespace robustrun::supervisor
