#pragma once
// The environment variables that a worker gets: torchrun's and ours. Pure.
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
  std::string tracer{};      // NCCL_PROFILER_PLUGIN, unless the caller's keeps the slot
  std::string flight;      // ROBUSTRUN_FLIGHT_SOCKET: torch's Flight Recorder answers there
  std::string stacks;      // derived from the record's name by the boot module; no variable
  std::string modules{};   // modules for its standby; the boot module knows the name as well
  std::string touched{};   // files that it reads; the boot module knows the name as well
  std::string ras_address{};  // NCCL_RAS_ADDR, unless the caller has one
  ProfilerShare profiler{};
};

// Sets our variables in `env`, which holds the caller's. `cpus` and errors: as for
// make_worker_command(). Returns a notice for the log, if any.
base::Result<std::optional<std::string>> set_worker_variables(
    Environment& env, const wire::WorkerTemplate& workers, const wire::StartWorkers& start,
    const wire::WorkerSlot& slot, const WorkerFiles& files, unsigned cpus);

// The GPUs of a worker, as numbers or UUIDs: the one with its local rank among the visible ones,
// which is how torchrun's users assign them; empty: unknown.
std::vector<std::string> devices_of(const wire::WorkerTemplate& workers, base::LocalRank rank);

}  // namespace robustrun::agent
