#pragma once
// Every bound of the supervisor's shell (the core has its own; style.md, "Bounded").

#include <chrono>

namespace robustrun::supervisor {

// One line of progress in the journal per this time.
inline constexpr std::chrono::minutes kSummaryInterval{1};
// From the core's Finish to our exit: agents say goodbye, the console drains.
inline constexpr std::chrono::seconds kFarewellMax{5};
// From SIGKILL of what is left to our exit.
inline constexpr std::chrono::seconds kKillMax{2};
// A node that says nothing for so long is lost (decisions.md 5).
inline constexpr std::chrono::seconds kNodeSilenceMax{10};
inline constexpr std::chrono::seconds kLeaseCheckInterval{1};

}  // namespace robustrun::supervisor
