#pragma once
// Jumps of the machine's clock of day: somebody set it, or the machine stood still (a paused or
// moved virtual machine, a suspended one).

#include <optional>
#include <vector>

#include "agent/health_probe.h"

namespace robustrun::agent {

struct ClockReading {
  base::Nanos wall{};  // CLOCK_REALTIME
  base::Nanos boot{};  // CLOCK_BOOTTIME, which goes on while the machine is suspended
};

// Told when the two grew apart by more than kClockJumpMin between two readings. Pure.
[[nodiscard]] std::vector<wire::NodeHealth> clock_changes(const ClockReading& before,
                                                          const ClockReading& now);

// `clock` outlives the probe.
[[nodiscard]] WatchedProbe clock_probe(const base::Clock& clock);

}  // namespace robustrun::agent
