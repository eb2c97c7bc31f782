#pragma once
// Every bound of the core that is not policy (policy: RestartPolicy and Deadlines in job_spec.h).

#include <cstddef>
#include <cstdint>

#include "base/core/clock.h"

namespace robustrun::supervisor {

inline constexpr std::size_t kNodesMax = 1U << 16;
inline constexpr std::uint64_t kWorkersMax = 1U << 20;

// Lines of evidence in one decision; the rest is counted.
inline constexpr std::size_t kEvidenceMax = 16;
inline constexpr std::size_t kSignatureBytesMax = 240;

// Agents started for a node in a row, at once, of which none said hello.
inline constexpr std::uint32_t kAgentLaunchesMax = 2;
// Losses of a node's agents after which it still has the first claim to its place.
inline constexpr std::uint32_t kAgentLossesForgiven = 1;
// A node whose agents were lost more often is no reason to restart a smaller group that works.
inline constexpr std::uint32_t kLossesToGrowWithMax = 3;

// Restarts that `robustrun status` names; the report has them all.
inline constexpr std::size_t kRestartsKept = 5;

// Port conflicts in a row without progress that are not counted. A fresh port is not lost to a
// race this often: after them it is the script's own port, and counts like any failure.
inline constexpr std::uint32_t kPortConflictsMax = 3;

// What agents need to find a supervisor that took over, before a deadline of the one before counts.
inline constexpr base::Nanos kReunionMax = std::chrono::seconds(10);

// Doublings of the back-off: keeps the shift in range, the cap does the rest.
inline constexpr std::uint32_t kBackoffDoublingsMax = 20;

// What workers that ended well left running gets this long at the end of a run (or
// --shutdown-timeout, if that is less).
inline constexpr base::Nanos kLeftoverGrace = std::chrono::seconds(5);

}  // namespace robustrun::supervisor
