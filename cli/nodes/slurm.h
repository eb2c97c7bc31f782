#pragma once
// What Slurm's variables say of where we are, and what that makes of a run: an allocation whose
// nodes get their agents by srun, or one task of a step that has one robustrun per node.
//
// Pure: docs/internals/slurm.md, section 1, has the variables. Nothing is guessed from host names.

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
    kNone,     // no allocation, or the user wants something else
    kLaunch,   // the agents of all its nodes are started from here
    kMeet,     // a task of `srun robustrun`: the tasks are the nodes, the first one leads
  };
  Part part = Part::kNone;
  std::string job;                     // SLURM_JOB_ID
  std::vector<launcher::Host> nodes;   // kLaunch: of the allocation, under Slurm's names
  std::string node_list;               // the same as Slurm writes it
  std::uint32_t gpus_per_node = 0;     // 0: none, or not known
  // kMeet
  std::uint32_t tasks = 0;
  std::uint32_t task = 0;
  std::string meeting;   // "41.0.1": job, step, and how often the job was requeued
};

// The error is a whole sentence: what was asked for cannot be had here.
[[nodiscard]] base::Result<SlurmPlan> plan_slurm(const Settings& settings,
                                                 const Surroundings& around);

// "4", "a100:4", "gpu:a100:2,gpu:v100:2": how many that is; 0 for what is not like these.
[[nodiscard]] std::uint32_t count_gpus(std::string_view text);

}  // namespace robustrun::cli
