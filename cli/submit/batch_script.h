#pragma once
// The batch script of `robustrun submit`. Pure.
//
// The script watches the supervisor: it replaces a dead one with `robustrun resume`, passes Slurm's
// signals on, and requeues the job by the exit code (reasons: docs/internals/slurm.md). Where Slurm
// refuses to requeue, the script queues a copy of itself.

#include <string>
#include <vector>

namespace robustrun::cli {

struct BatchJob {
  std::vector<std::string> sbatch;  // options of sbatch ("--nodes=16"), without line ends
  std::string robustrun;  // absolute path
  std::vector<std::string> words;  // options of robustrun, the script and its arguments
  std::vector<int> requeue_codes;  // exit codes after which the job is queued again
  std::string node_history;  // --node-history, for `robustrun requeue`; empty: not given
};

[[nodiscard]] std::string batch_script(const BatchJob& job);

}  // namespace robustrun::cli
