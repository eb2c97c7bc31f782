#pragma once
// What a worker is started with: argv and environment of torchrun. Pure.
//
// One rule of torchrun for both: ${local_rank} is replaced in every argument and in the script's
// or module's name, but not in the name of a plain executable. TORCHELASTIC_USE_AGENT_STORE is
// "False": rank 0's worker hosts the store at MASTER_ADDR:MASTER_PORT.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

// Paths of this worker's own files; empty where there is none.
struct WorkerFiles {
  std::string error_file;  // TORCHELASTIC_ERROR_FILE
  std::string record;      // ROBUSTRUN_RECORD
  std::string socket;      // ROBUSTRUN_SOCKET
  std::string tracer{};      // NCCL_PROFILER_PLUGIN, unless the caller has one
  std::string flight;      // ROBUSTRUN_FLIGHT_SOCKET: torch's Flight Recorder answers there
  std::string stacks;      // what the boot module makes of the record's name; not told
  std::string modules{};   // list for its standby; the boot module knows the name as well
  std::string touched{};   // list of the files that it reads; likewise
  std::string ras_address{};  // NCCL_RAS_ADDR, unless the caller has one
};

struct WorkerCommand {
  std::vector<std::string> argv;  // argv[0] is found on PATH by the shim when it has no '/'
  std::vector<std::string> environment;  // NAME=VALUE, complete; ours replace the caller's
  std::vector<std::string> notices;  // for the log; only local rank 0's command has any
};

// `cpus`: processors that this node's workers share (omp=auto; usable_cpus()). With injection the
// interpreter runs `<python_path>/robustrun/boot.py MODE PROGRAM ARGS…`.
// kInvalidArgument when --virtual-local-rank finds no entry of CUDA_VISIBLE_DEVICES for this rank.
base::Result<WorkerCommand> make_worker_command(const wire::WorkerTemplate& workers,
                                                const wire::StartWorkers& start,
                                                const wire::WorkerSlot& slot,
                                                const WorkerFiles& files, unsigned cpus);

// GPUs that a worker uses, as numbers or UUIDs: that of its local rank among those that are
// visible, as torchrun's users have it; empty: not known.
std::vector<std::string> devices_of(const wire::WorkerTemplate& workers, base::LocalRank rank);

// Python's string.Template(text).safe_substitute(local_rank=n): ${local_rank}, $local_rank, $$.
std::string substitute_local_rank(const std::string& text, unsigned local_rank);

}  // namespace robustrun::agent
