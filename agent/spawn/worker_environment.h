#pragma once
// The environment variables that a worker gets: torchrun's and robustrun's. Pure.
//
// TORCHELASTIC_USE_AGENT_STORE is "True" if an agent serves the store at MASTER_ADDR:MASTER_PORT,
// and "False" if rank 0's worker does.

#include <optional>
#include <string>
#include <vector>

#include "agent/node/environment.h"
#include "agent/node/profiler_share.h"
#include "base/core/result.h"
#include "wire/messages/messages.h"

namespace robustrun::agent {

// Paths of this worker's own files; empty: no such file.
struct WorkerFiles {
  std::string error_file;  // TORCHELASTIC_ERROR_FILE
  std::string record;      // ROBUSTRUN_RECORD
  std::string socket;      // ROBUSTRUN_SOCKET
  std::string tracer{};      // NCCL_PROFILER_PLUGIN, unless the user's plugin keeps the slot
  std::string flight;      // ROBUSTRUN_FLIGHT_SOCKET, for reading torch's Flight Recorder
  std::string stacks;      // no variable: the boot module derives the name from `record`'s
  std::string modules{};   // list of imported modules, for standby workers; name as for `stacks`
  std::string touched{};   // list of files that it reads; name as for `stacks`
  std::string ras_address{};  // NCCL_RAS_ADDR, unless the user has set it
  ProfilerShare profiler{};
};

// Adds the worker's variables to `env`, which holds the user's. `cpus` and errors: as for
// make_worker_command(). Returns a notice for the log, or nullopt.
base::Result<std::optional<std::string>> set_worker_variables(
    Environment& env, const wire::WorkerTemplate& workers, const wire::StartWorkers& start,
    const wire::WorkerSlot& slot, const WorkerFiles& files, unsigned cpus);

// The GPU that the worker with local rank `rank` is assumed to use, as number or UUID: the entry of
// CUDA_VISIBLE_DEVICES with that index, or the index itself if the variable is not set. Users of
// torchrun assign GPUs like this. Empty: unknown.
std::vector<std::string> devices_of(const wire::WorkerTemplate& workers, base::LocalRank rank);

}  // namespace robustrun::agent
