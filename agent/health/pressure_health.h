#pragma once
// Watches memory and processor pressure that stalls all tasks (pressure stall information, PSI,
// Documentation/accounting/psi.rst). Where the kernel's log cannot be read, also watches the
// counters of the OOM killer.
//
// The value "full" of PSI is the share of the last 10 s in which all tasks stalled at once. For
// processors it is read from the agent's cgroup, where it means that the quota is used up; for the
// whole machine the kernel always reports 0.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/health/probe.h"

namespace robustrun::agent {

// The number in the line "full avg10=12.34 avg60=…", a percentage; nullopt: there is no such line.
[[nodiscard]] std::optional<double> full_pressure(std::string_view text);

struct PressureReading {
  std::optional<double> memory, processor;  // per cent
  std::optional<std::uint64_t> oom_kills;  // nullopt: not watched, or not readable
};

// Reports pressure that lasts for kPressureLasts, and its end once it has been absent for as long.
// Pure.
class PressureHistory {
 public:
  // Returns the findings that `reading` adds. `now`: monotonic time.
  std::vector<wire::NodeHealth> take(const PressureReading& reading, base::Nanos now);

 private:
  struct Kind {
    std::optional<base::Nanos> changed_at;  // since when the value contradicts `reported`
    bool reported = false;
  };
  void follow(Kind& kind, wire::NodeHealth::Source source, std::optional<double> value,
              double limit, base::Nanos now, std::vector<wire::NodeHealth>& found);
  Kind memory_, processor_;
  std::optional<std::uint64_t> oom_kills_;
};

// `root` is put before /proc. `oom_too`: also watch the counters of the OOM killer.
[[nodiscard]] WatchedProbe pressure_probe(const std::string& root, bool oom_too);

}  // namespace robustrun::agent
