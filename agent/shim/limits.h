#pragma once
// Limits of the shim and of the agent's side of it. Limits of killing are in base/io/strays.h.

#include <chrono>
#include <cstddef>

namespace robustrun::agent::shim {

inline constexpr int kDeathPollMs = 5;            // between two sweeps without a SIGCHLD
inline constexpr std::size_t kProcessorsMax = 8192;  // as the kernel's own limit
inline constexpr std::size_t kNumaNodesMax = 1024;   // the same

// shim_link
inline constexpr std::chrono::milliseconds kStraySweepInterval{2};  // after a shim was lost
inline constexpr std::size_t kProcTextBytesMax = 4096;
inline constexpr unsigned kStopsMax = 8;  // a shim that was stopped more often is killed

}  // namespace robustrun::agent::shim
