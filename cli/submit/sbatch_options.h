#pragma once
// The #SBATCH lines of a submitted job. Pure.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "cli/options/settings.h"

namespace robustrun::cli {

// Options of sbatch ("--nodes=16", "--exclusive"), without line ends. `requeue`: Slurm may queue
// the job again. Errors name the option that cannot be used, and why.
[[nodiscard]] base::Result<std::vector<std::string>> sbatch_options(const Settings& settings,
                                                                    bool requeue);

}  // namespace robustrun::cli
