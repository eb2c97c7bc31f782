#pragma once
// Bounds of hot_files.

#include <chrono>

namespace robustrun::agent {

inline constexpr std::chrono::seconds kHotKnownMax{1};  // a start waits so long for the profile
inline constexpr std::chrono::seconds kHotMadeMax{3};  // the end of a run waits so long for it
inline constexpr std::chrono::seconds kHotListsWait{
    10};  // from the first worker's list to the last

}  // namespace robustrun::agent
