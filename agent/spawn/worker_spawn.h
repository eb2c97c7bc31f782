#pragma once
// Plans how one worker of an order is started on this node. Used to start the worker itself, and to
// make a standby worker that can later replace it.

#include <string>

#include "agent/node/node_context.h"
#include "agent/spawn/numa.h"
#include "agent/spawn/standby_match.h"
#include "agent/spawn/worker_command.h"
#include "base/core/result.h"
#include "wire/messages/orders.h"

namespace robustrun::agent {

// The common beginning of the names of a worker's files. It contains the attempt, so that a worker
// of an older attempt never meets a newer one's files.
[[nodiscard]] std::string worker_stem(const NodeContext& node, base::Rank rank,
                                      base::Attempt attempt);

// The files that the worker is told of; creates none of them. `error_file`, `ras_address`: may be
// empty.
[[nodiscard]] WorkerFiles worker_files(const NodeContext& node, base::Rank rank,
                                       base::Attempt attempt, std::string error_file,
                                       std::string ras_address);

struct SpawnPlan {
  const wire::StartWorkers& start;
  const wire::WorkerSlot& slot;
  const WorkerFiles& files;
  std::string cpus{}, memory{};  // as in ShimOptions
  unsigned usable_cpus = 1;  // of this node, for all its workers together
};
struct PlannedSpawn {
  LaunchSpec spawn;
  std::vector<std::string> notices;  // as in WorkerCommand
};
// Errors: those of make_worker_command().
[[nodiscard]] base::Result<PlannedSpawn> plan_spawn(const NodeContext& node, SpawnPlan plan);

// Bindings of `count` workers; empty if the template asks for none. Errors: those of
// plan_numa_binding().
[[nodiscard]] base::Result<NumaPlan> plan_bindings(const wire::WorkerTemplate& workers,
                                                   std::size_t count);

}  // namespace robustrun::agent
