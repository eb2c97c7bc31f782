#pragma once
// The command lines of Slurm's programs, and the environment that srun gets. Pure.
//
// One srun starts the agents of many nodes; docs/internals/slurm.md explains each option. Variables
// that srun would take for options are removed from its environment, so that only our options
// count. Variables that identify the cluster and the user stay.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::launcher {

struct SlurmOptions {
  std::string executable;  // path of robustrun itself, absolute; the same on every node
  std::string commands;  // folder of Slurm's programs (srun, scontrol …); absolute
  std::string job;  // SLURM_JOB_ID
  std::string run_id;  // names the steps and identifies the agents
  std::string folder;  // absolute, shared by all nodes: for the output of srun and the agents
  std::uint32_t restarts = 0;  // SLURM_RESTART_COUNT of this start of the job
  // How long before the job's time limit Slurm's warning may come.
  base::Nanos warning{};
  // How often to ask Slurm for the nodes' states, the job's end and replacements; 0: never.
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

// The options of every srun that starts agents, both in the run's own job and in a replacement's.
[[nodiscard]] const std::vector<std::string>& agent_step_options();

// `number`: the step's, unique within the run; part of the names of the step's files.
[[nodiscard]] std::vector<std::string> srun_argv(const SlurmOptions& options,
                                                 const std::vector<std::string>& nodes,
                                                 unsigned number);
// Path of the log of the agent on the step's node number `node`, on that machine.
[[nodiscard]] std::string agent_log(const SlurmOptions& options, unsigned number,
                                    std::uint32_t node);
[[nodiscard]] std::string srun_log(const SlurmOptions& options, unsigned number);
// `own`: our environment.
[[nodiscard]] std::vector<std::string> srun_environment(const SlurmOptions& options,
                                                        const std::vector<std::string>& own);

// The command that prints the job's record, perhaps among those of other tasks of its array
// (record_of() in fields.h), with times in Unix seconds.
[[nodiscard]] std::vector<std::string> show_job_argv(const SlurmOptions& options);
// The command that prints "STEP NAME" of every step of the job.
[[nodiscard]] std::vector<std::string> list_steps_argv(const SlurmOptions& options);
// `listed`: output of list_steps_argv(). Returns the steps of this run.
[[nodiscard]] std::vector<std::string> own_steps(const SlurmOptions& options,
                                                 std::string_view listed);
[[nodiscard]] std::vector<std::string> cancel_argv(const SlurmOptions& options,
                                                   const std::vector<std::string>& steps);
// The command that prints the nodes that the job has: "n[1-2]". Slurm takes a node that went down
// out of the job for good.
[[nodiscard]] std::vector<std::string> job_nodes_argv(const SlurmOptions& options);
// The command that prints "NODE STATE" of every node of `nodes`.
[[nodiscard]] std::vector<std::string> node_states_argv(const SlurmOptions& options,
                                                        const std::vector<std::string>& nodes);
// `listed`: output of node_states_argv(). Returns the nodes on which Slurm starts nothing, as "NODE
// STATE".
[[nodiscard]] std::vector<std::string> unusable_nodes(std::string_view listed);

}  // namespace robustrun::launcher
