#pragma once
// The argv and environment of a worker, as torchrun makes them. Pure.
//
// Like torchrun, replaces ${local_rank} in every argument and in the script's or module's name, but
// not in the name of a plain executable. worker_environment.h sets the environment.

#include <string>
#include <vector>

#include "agent/spawn/worker_environment.h"
#include "base/core/result.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

struct WorkerCommand {
  std::vector<std::string> argv;  // argv[0] without '/' is searched in PATH by the shim
  std::vector<std::string> environment;  // NAME=VALUE, complete; robustrun's replace the user's
  std::vector<std::string> notices;  // for the log; only local rank 0's command has any
};

// `cpus`: processors that this node's workers share (usable_cpus()), for --omp=auto. If
// `workers.python_path` is set, the interpreter runs `<python_path>/robustrun/boot.py MODE PROGRAM
// ARGS…`. kInvalidArgument: with --virtual-local-rank, CUDA_VISIBLE_DEVICES has no entry for this
// rank.
base::Result<WorkerCommand> make_worker_command(const wire::WorkerTemplate& workers,
                                                const wire::StartWorkers& start,
                                                const wire::WorkerSlot& slot,
                                                const WorkerFiles& files, unsigned cpus);

// Python's string.Template(text).safe_substitute(local_rank=n): ${local_rank}, $local_rank, $$.
std::string substitute_local_rank(const std::string& text, unsigned local_rank);

}  // namespace robustrun::agent
