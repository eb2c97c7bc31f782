#pragma once
// From what Slurm gives us (plan_slurm.h) to the nodes of a run. Errors are whole sentences. Pure
// but for questions to Surroundings::machine.

#include <cstddef>
#include <cstdint>

#include "base/core/result.h"
#include "cli/nodes/nodes.h"
#include "cli/nodes/slurm.h"

namespace robustrun::cli {

// Refuses --nnodes and --spares that do not make up the allocation's `nodes`; `most` is what
// --nnodes says.
[[nodiscard]] base::Status check_allocation(const Settings& settings, const SlurmPlan& slurm,
                                            std::uint32_t most, std::size_t nodes);

// How srun is called; kNotFound when it is not on PATH.
[[nodiscard]] base::Status plan_srun(const Settings& settings, const Surroundings& around,
                                     const SlurmPlan& slurm, launcher::SlurmOptions& options);

// The tasks of a step as nodes: counts, part, and the file by which they meet.
[[nodiscard]] base::Status plan_step(const Settings& settings, const Surroundings& around,
                                     const SlurmPlan& slurm, NodesPlan& plan);

}  // namespace robustrun::cli
