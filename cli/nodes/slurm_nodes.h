#pragma once
// The nodes of a run in Slurm (slurm.h). Errors are whole sentences. Pure but for questions to
// Surroundings::machine.

#include <cstddef>
#include <cstdint>

#include "base/core/result.h"
#include "cli/nodes/nodes.h"
#include "cli/nodes/slurm.h"

namespace robustrun::cli {

// Refuses --nnodes and --spares that do not add up to the `nodes` of the allocation; `most` is the
// maximum of --nnodes.
[[nodiscard]] base::Status check_allocation(const Settings& settings, const SlurmPlan& slurm,
                                            std::uint32_t most, std::size_t nodes);

// Sets `options` for srun; kNotFound if srun is not on PATH.
[[nodiscard]] base::Status plan_srun(const Settings& settings, const Surroundings& around,
                                     const SlurmPlan& slurm, launcher::SlurmOptions& options);

// --replace and --replace-with: sets plan.replace and plan.slurm.replacement.
[[nodiscard]] base::Status plan_replacements(const Settings& settings, NodesPlan& plan);

// Makes the tasks of a step the nodes of the run: sets counts, part, and the join token file.
[[nodiscard]] base::Status plan_step(const Settings& settings, const Surroundings& around,
                                     const SlurmPlan& slurm, NodesPlan& plan);

}  // namespace robustrun::cli
