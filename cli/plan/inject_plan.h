#pragma once
// The fault that a line of `robustrun inject` asks for. Pure.

#include <optional>
#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "cli/options/parser.h"
#include "supervisor/control/fault_request.h"

namespace robustrun::cli {

struct InjectPlan {
  std::string run;                       // empty: the newest
  supervisor::FaultRequest fault;        // the caller sets `draw` anew for each fault
  base::Nanos after{};
  std::optional<base::Nanos> every;      // nullopt: once
  std::uint64_t seed = 0;
  bool draws = false;                    // the seed decides the target
};

// `seed`: used if the line has none. Errors are kInvalidArgument, one sentence, to be shown below
// the usage line.
[[nodiscard]] base::Result<InjectPlan> plan_injection(const InjectLine& line, std::uint64_t seed);

// "12:03:04  kill  rank 3 on node01 (pid 4242)" in the local time zone, without a newline.
[[nodiscard]] std::string injection_text(base::Nanos wall_time, wire::FaultKind kind,
                                         const supervisor::FaultReport& report);

}  // namespace robustrun::cli
