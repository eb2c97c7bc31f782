#pragma once
// The command lines of Slurm's programs, and the environment that srun gets. Pure.
//
// One srun starts the agents of many nodes; docs/internals/slurm.md explains each option. Variables
// that srun would take for options are removed from its environment, so that only the options
// count; those that identify the cluster and the user stay.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::launcher {

struct SlurmOptions {
  std::string executable;  // our own, absolute; the same on every node
  std::string commands;  // folder of Slurm's programs (srun, scontrol …); absolute
  std::string job;  // SLURM_JOB_ID
  std::string run_id;  // names the steps and identifies the agents
  std::string folder;  // absolute, on every node: for the output of srun and the agents
  std::uint32_t restarts = 0;  // SLURM_RESTART_COUNT of this start of the job
  // How long before the job's time limit Slurm's warning may come.
  base::Nanos warning{};
  // Between two questions about the nodes' states, the job's end, or replacements; 0: none is
  // asked.
  base::Nanos poll{};
  // Options of sbatch for jobs that bring nodes in place of lost ones (slurm/replacement.h).
  std::vector<std::string> replacement{};
  template <class V>
  void fields(V& v) {
    v(1, "executable", executable);
    v(2, "commands", commands);
    v(3, "job", job);
    v(4, "run_id", run_id);
    v(5, "folder", folder);
    v(6, "restarts", restarts);
    v(7, "warning", warning);
    v(8, "poll", poll);
    v(9, "replacement", replacement);
  }
};

// In the environment of every agent in the run's own job: the run's id. An agent of a newer
// generation finds its predecessor on the node by this variable, and kills it.
inline constexpr std::string_view kAgentOfVariable = "ROBUSTRUN_AGENT_OF";

// The options of every srun that starts agents: this run's, and those of a replacement's job.
[[nodiscard]] const std::vector<std::string>& agent_step_options();

// `number`: of the step, unique within the run; part of its file names.
[[nodiscard]] std::vector<std::string> srun_argv(const SlurmOptions& options,
                                                 const std::vector<std::string>& nodes,
                                                 unsigned number);
// Of the agent on the step's node number `node`, on that machine.
[[nodiscard]] std::string agent_log(const SlurmOptions& options, unsigned number,
                                    std::uint32_t node);
[[nodiscard]] std::string srun_log(const SlurmOptions& options, unsigned number);
// `own`: our environment.
[[nodiscard]] std::vector<std::string> srun_environment(const SlurmOptions& options,
                                                        const std::vector<std::string>& own);

// Prints the job's record, perhaps among those of other tasks of its array (record_of() in
// fields.h), with times in Unix seconds.
[[nodiscard]] std::vector<std::string> show_job_argv(const SlurmOptions& options);
// Prints "STEP NAME" of every step of the job.
[[nodiscard]] std::vector<std::string> list_steps_argv(const SlurmOptions& options);
// From that output: the steps of this run.
[[nodiscard]] std::vector<std::string> own_steps(const SlurmOptions& options,
                                                 std::string_view listed);
[[nodiscard]] std::vector<std::string> cancel_argv(const SlurmOptions& options,
                                                   const std::vector<std::string>& steps);
// Lists the nodes that the job has: "n[1-2]". A node that went down is not among them any more,
// and never comes back.
[[nodiscard]] std::vector<std::string> job_nodes_argv(const SlurmOptions& options);
// Prints "NODE STATE" of every one of these nodes.
[[nodiscard]] std::vector<std::string> node_states_argv(const SlurmOptions& options,
                                                        const std::vector<std::string>& nodes);
// From that output: nodes on which Slurm starts nothing, each followed by a blank and its state.
[[nodiscard]] std::vector<std::string> unusable_nodes(std::string_view listed);

}  // namespace robustrun::launcher
