#pragma once
// Reads a site's failure rates, in TOML (docs/sim.md), into the simulator's FailureModel. Pure.
//
//   rate_per_node_day, repair, maintained, slow_for, slow_factor, hang_stays, source
//   [mix]        gpu, machine, hang, slow, software, passing, maintenance
//   [co_events]  share, machines

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "simulator/failure_model.h"

namespace robustrun::cli {

// `path` names the model, and stands in errors: "PATH:LINE:COLUMN: what".
[[nodiscard]] base::Result<simulator::FailureModel> parse_failures(std::string_view text,
                                                                   const std::string& path);

}  // namespace robustrun::cli
