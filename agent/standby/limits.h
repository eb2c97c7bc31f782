#pragma once
// Limits of templates; those of standby workers are in agent/node/limits.h.

#include <chrono>

namespace robustrun::agent {

inline constexpr std::chrono::seconds kStandbyForkMax{10};  // for one of them

}  // namespace robustrun::agent
