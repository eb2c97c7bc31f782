#include "agent/spawn/worker_spawn.h"

#include <unistd.h>

#include <cstdint>
#include <optional>
#include <utility>

#include "agent/evidence/tracer_library.h"
#include "agent/node/environment.h"
#include "agent/spawn/usable_cpus.h"

namespace robustrun::agent {
namespace {

int stdin_fd(const NodeContext& node, base::Rank rank) {
  const std::optional<std::uint32_t>& chosen = node.workers.stdin_rank;
  const bool reads = node.workers.compat || (chosen && *chosen == rank.value);
  return reads && node.has_input ? STDIN_FILENO : -1;
}

}  // namespace

std::string worker_stem(const NodeContext& node, base::Rank rank, base::Attempt attempt) {
  return node.runtime_directory + "/" + std::to_string(rank.value) + "." +
         std::to_string(attempt.value);
}

WorkerFiles worker_files(const NodeContext& node, base::Rank rank, base::Attempt attempt,
                         std::string error_file, std::string ras_address) {
  WorkerFiles files;
  files.error_file = std::move(error_file);
  if (node.workers.python_path.empty()) return files;
  const std::string stem = worker_stem(node, rank, attempt);
  files.record = stem + ".record";
  files.socket = stem + ".sock";
  files.tracer = tracer_library(node.workers);
  files.profiler = node.profiler;
  files.stacks = stem + ".stack";
  files.modules = stem + ".modules";
  files.touched = stem + ".files";
  if (!node.workers.trace) return files;
  files.ras_address = std::move(ras_address);
  files.flight = stem + ".fr";
  return files;
}

base::Result<PlannedSpawn> plan_spawn(const NodeContext& node, SpawnPlan plan) {
  WorkerCommand command = RR_TRY(
      make_worker_command(node.workers, plan.start, plan.slot, plan.files, plan.usable_cpus));
  command.argv.insert(command.argv.begin(), node.home.prefix.begin(), node.home.prefix.end());
  LaunchSpec spawn{std::move(command.argv),
                   std::move(command.environment),
                   node.workers.working_directory,
                   std::move(plan.cpus),
                   std::move(plan.memory),
                   stdin_fd(node, plan.slot.rank),
                   node.home.container,
                   plan.slot.out,
                   plan.slot.err};
  return PlannedSpawn{std::move(spawn), std::move(command.notices)};
}

base::Result<NumaPlan> plan_bindings(const wire::WorkerTemplate& workers, std::size_t count) {
  if (workers.numa_binding.empty() && workers.numa_memory.empty()) return NumaPlan{};
  NumaRequest request;
  request.mode = workers.numa_binding;
  request.memory = workers.numa_memory;
  request.local_world_size = static_cast<unsigned>(count);
  request.cuda_visible_devices = Environment(workers.environment).get("CUDA_VISIBLE_DEVICES");
  request.allowed_cpus = allowed_cpus();
  return plan_numa_binding(request);
}

}  // namespace robustrun::agent
