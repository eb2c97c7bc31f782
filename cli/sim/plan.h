#pragma once
// `robustrun sim`: from the command line to the study that the simulator runs. Pure but for
// questions to Surroundings::machine (the policy and the file of failures).

#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "cli/options/parser.h"
#include "cli/options/surroundings.h"
#include "simulator/replay.h"
#include "simulator/study.h"

namespace robustrun::cli {

// `site`: the data of the journals of --from-journal; nullopt without the option. Errors are one
// sentence with the option's name and the given value, or those of the readers of the files.
[[nodiscard]] base::Result<simulator::StudyRequest> plan_sim(
    const SimLine& line, const Surroundings& around,
    const std::optional<simulator::Site>& site = std::nullopt);

// For --replay: the job and the times; the caller adds the run itself.
[[nodiscard]] base::Result<simulator::ReplayRequest> plan_sim_replay(const SimLine& line,
                                                                     const simulator::Site& site);

}  // namespace robustrun::cli
