#pragma once
// --trackers: how the workers' experiment trackers treat restarts (docs/trackers.md), checked. Pure
// but for questions to Surroundings.

#include <string>

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "cli/plan/plan.h"

namespace robustrun::cli {

// Sets ROBUSTRUN_TRACKER_STATE in the environment of the workers, and OutletPlan::incidents_file.
// Places, workers and outlets of `plan` must be set. Warns where the option has no effect.
base::Status plan_trackers(const Settings& settings, const Surroundings& around, RunPlan& plan);

// The folder with the ids of the trackers' runs: in the run directory; for a requeued Slurm job, in
// the run directory of its first start that still exists. `id`: --rdzv-id, or empty.
[[nodiscard]] std::string tracker_folder(const std::string& run_directory, const std::string& id,
                                         const Surroundings& around);

}  // namespace robustrun::cli
