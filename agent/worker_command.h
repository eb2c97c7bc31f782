#pragma once
// What a worker is started with: argv and environment of torchrun.md a.1.4 and a.2.1. Pure.

#include <string>
#include <vector>

#include "wire/messages.h"

namespace robustrun::agent {

// Paths of this worker's own files; empty where there is none.
struct WorkerFiles {
  std::string error_file;   // TORCHELASTIC_ERROR_FILE
  std::string record;       // ROBUSTRUN_RECORD
  std::string socket;       // ROBUSTRUN_SOCKET
};

struct WorkerCommand {
  std::vector<std::string> argv;         // argv[0] is found on PATH by the shim when it has no '/'
  std::vector<std::string> environment;  // NAME=VALUE, complete; ours replace the caller's
  std::vector<std::string> notices;      // for the log, once per node (OMP_NUM_THREADS was set …)
};

// `cpus`: processors this worker may use (for omp=auto). With injection the interpreter runs
// `<python_path>/robustrun/boot.py MODE PROGRAM ARGS…` by absolute path (decisions.md 8).
WorkerCommand make_worker_command(const wire::WorkerTemplate& workers,
                                  const wire::StartWorkers& start, const wire::WorkerSlot& slot,
                                  const WorkerFiles& files, unsigned cpus);

// Python's string.Template(text).safe_substitute(local_rank=n): ${local_rank}, $local_rank, $$.
std::string substitute_local_rank(const std::string& text, unsigned local_rank);

}  // namespace robustrun::agent
