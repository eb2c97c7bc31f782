#pragma once
// What a line of `robustrun inject` asks for. Pure.

#include <optional>
#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "cli/options/parser.h"
#include "supervisor/control/fault_request.h"

namespace robustrun::cli {

struct InjectPlan {
  std::string run;                       // empty: the newest
  supervisor::FaultRequest fault;        // `draw` is made anew for each fault
  base::Nanos after{};
  std::optional<base::Nanos> every;      // none: once
  std::uint64_t seed = 0;
  bool draws = false;                    // the seed decides who is hit
};

// `seed`: when the line gives none. kInvalidArgument, one sentence for under the usage line.
[[nodiscard]] base::Result<InjectPlan> plan_injection(const InjectLine& line, std::uint64_t seed);

// "12:03:04  kill  rank 3 on node01 (pid 4242)", without a line's end. `wall_time` in the local
// time zone.
[[nodiscard]] std::string injection_text(base::Nanos wall_time, wire::FaultKind kind,
                                         const supervisor::FaultReport& report);

[[nodiscard]] std::string inject_help();

}  // namespace robustrun::cli
