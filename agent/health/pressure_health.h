#pragma once
// Memory and processor pressure that stalls everything: pressure stall information (PSI,
// Documentation/accounting/psi.rst), and, where the kernel's log cannot be read, the counters of
// the OOM killer.
//
// "full" is the share of the last 10 s in which all tasks stalled at once. For processors only a
// cgroup reports it (its quota is used up); for the whole machine the kernel always reports 0.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agent/health/probe.h"

namespace robustrun::agent {

// The percentage of "full avg10=12.34 avg60=…"; nullopt when there is no such line.
[[nodiscard]] std::optional<double> full_pressure(std::string_view text);

struct PressureReading {
  std::optional<double> memory, processor;
  std::optional<std::uint64_t> oom_kills;  // none: not asked, or not readable
};

// Reports a limit that was exceeded for kPressureLasts; reports its end once it was not exceeded
// for as long. Pure.
class PressureHistory {
 public:
  std::vector<wire::NodeHealth> take(const PressureReading& reading, base::Nanos now);

 private:
  struct Kind {
    std::optional<base::Nanos> changed_at;  // since when the value contradicts the report
    bool reported = false;
  };
  void follow(Kind& kind, wire::NodeHealth::Source source, std::optional<double> value,
              double limit, base::Nanos now, std::vector<wire::NodeHealth>& found);
  Kind memory_, processor_;
  std::optional<std::uint64_t> oom_kills_;
};

// `root` is put before /proc; `oom_too`: the kernel's log is not followed, so the OOM killer's
// counters are.
[[nodiscard]] WatchedProbe pressure_probe(const std::string& root, bool oom_too);

}  // namespace robustrun::agent
