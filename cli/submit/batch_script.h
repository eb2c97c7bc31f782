#pragma once
// The batch script of `robustrun submit`. Pure.
//
// Its shell supervises the supervisor: a dead one is followed by `robustrun resume`, Slurm's
// signals are passed on, and the exit code says whether the job is queued again
// (docs/internals/slurm.md says why in this way).

#include <string>
#include <vector>

namespace robustrun::cli {

struct BatchJob {
  std::vector<std::string> sbatch;  // options of sbatch: "--nodes=16"; without line ends
  std::string robustrun;  // absolute path
  std::vector<std::string> words;  // its options, the script and its arguments
  std::vector<int> requeue_codes;  // exit codes after which the job is queued again
};

[[nodiscard]] std::string batch_script(const BatchJob& job);

}  // namespace robustrun::cli
