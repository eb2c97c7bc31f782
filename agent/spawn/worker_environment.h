#pragma once
// The environment variables that a worker gets: torchrun's, and ours. Pure.
//
// TORCHELASTIC_USE_AGENT_STORE is "False": rank 0's worker hosts the store at
// MASTER_ADDR:MASTER_PORT.

#include <optional>
#include <string>
#include <vector>

#include "agent/node/environment.h"
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

// Into `env`, which holds the caller's variables: ours replace them. `cpus`: as for
// make_worker_command(). Returns what the log should tell; errors as there.
base::Result<std::optional<std::string>> set_worker_variables(
    Environment& env, const wire::WorkerTemplate& workers, const wire::StartWorkers& start,
    const wire::WorkerSlot& slot, const WorkerFiles& files, unsigned cpus);

// GPUs that a worker uses, as numbers or UUIDs: that of its local rank among those that are
// visible, as torchrun's users have it; empty: not known.
std::vector<std::string> devices_of(const wire::WorkerTemplate& workers, base::LocalRank rank);

}  // namespace robustrun::agent
