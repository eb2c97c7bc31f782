#pragma once
// Reads from Slurm's variables how a run starts: in an allocation, whose nodes get their agents by
// srun, or as one task of a step with one robustrun per node.
//
// Pure. docs/internals/slurm.md, section 1, lists the variables. Nothing is guessed from host
// names.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "launcher/hosts/host.h"

namespace robustrun::cli {

struct SlurmPlan {
  enum class Part : std::uint8_t {
    kNone,     // no allocation, options that exclude it, or the only task of an srun
    kLaunch,   // the agents of all nodes are started from here
    kMeet,     // a task of `srun robustrun`: the tasks are the nodes, the first one leads
  };
  Part part = Part::kNone;
  std::string job;                     // SLURM_JOB_ID
  std::vector<launcher::Host> nodes;   // kLaunch: of the allocation, under Slurm's names
  std::string node_list;               // the same list in Slurm's notation
  std::uint32_t gpus_per_node = 0;     // 0: none or unknown
  std::uint32_t components = 1;  // of a heterogeneous job; `nodes` are those of the first one
  // kMeet
  std::uint32_t tasks = 0;
  std::uint32_t task = 0;
  std::string meeting;  // "41.0.1": job, step, and how often the job was requeued
};

// Errors are whole sentences: the given options are impossible here.
[[nodiscard]] base::Result<SlurmPlan> plan_slurm(const Settings& settings,
                                                 const Surroundings& around);

// The number of GPUs in "4", "a100:4" or "gpu:a100:2,gpu:v100:2"; 0 for other texts.
[[nodiscard]] std::uint32_t count_gpus(std::string_view text);

}  // namespace robustrun::cli
