#pragma once
// `robustrun sim`: from the command line to the question that the simulator answers. Pure but for
// questions to Surroundings::machine (the policy and the file of failures).

#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "cli/options/sim_line.h"
#include "cli/options/surroundings.h"
#include "simulator/replay.h"
#include "simulator/study.h"

namespace robustrun::cli {

// `site`: what the journals of --from-journal say; none: there are none. Errors are one sentence
// with the option's name and what the user wrote.
[[nodiscard]] base::Result<simulator::StudyRequest> plan_sim(
    const SimLine& line, const Surroundings& around,
    const std::optional<simulator::Site>& site = std::nullopt);

// For --replay: the job and the times; the run itself is left to the caller.
[[nodiscard]] base::Result<simulator::ReplayRequest> plan_sim_replay(const SimLine& line,
                                                                     const simulator::Site& site);

// A site's own failures, in TOML (docs/sim.md). Errors are "PATH:LINE:COLUMN: what".
//
//   rate_per_node_day, repair, maintained, slow_for, slow_factor, hang_stays, source
//   [mix]        gpu, machine, hang, slow, software, passing, maintenance
//   [co_events]  share, machines
[[nodiscard]] base::Result<simulator::FailureModel> parse_failures(std::string_view text,
                                                                   const std::string& path);

}  // namespace robustrun::cli
