#pragma once
// Detects jumps of the machine's wall clock: the clock was set, or the machine stood still (a
// virtual machine that was paused or moved).

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/health/probe.h"

namespace robustrun::agent {

struct ClockReading {
  base::Nanos wall{};  // CLOCK_REALTIME
  base::Nanos boot{};  // CLOCK_BOOTTIME, which includes the time that the machine is suspended
};

// The time since boot from `text` of /proc/uptime, "350735.47 234388.90"; nullopt: malformed. Pure.
[[nodiscard]] std::optional<base::Nanos> parse_uptime(std::string_view text);

// Returns a finding if the difference of the two clocks changed by kClockJumpMin or more. Pure.
[[nodiscard]] std::vector<wire::NodeHealth> clock_changes(const ClockReading& before,
                                                          const ClockReading& now);

// `clock` outlives the probe; `root` is put before /proc.
[[nodiscard]] WatchedProbe clock_probe(const std::string& root, const base::Clock& clock);

}  // namespace robustrun::agent
