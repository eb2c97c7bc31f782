#pragma once
// Bounds of stage_clock.

#include <chrono>

namespace robustrun::agent {

inline constexpr std::chrono::seconds kStagesToldAfter{300};  // though not all workers have stepped
inline constexpr std::chrono::seconds kStageNewsEvery{1};  // at most

}  // namespace robustrun::agent
