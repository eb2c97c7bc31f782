#include "agent/spawn/worker_environment.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "agent/evidence/ras_address.h"
#include "agent/spawn/profiler_choice.h"
#include "base/core/text.h"

namespace robustrun::agent {
namespace {

void set_ranks(Environment& env, const wire::WorkerTemplate& workers,
               const wire::StartWorkers& start, const wire::WorkerSlot& slot) {
  const std::string world_size = std::to_string(start.world_size);
  const std::string group_rank = std::to_string(start.group_rank);
  env.set("LOCAL_RANK", workers.virtual_local_rank ? "0" : std::to_string(slot.local_rank.value));
  env.set("RANK", std::to_string(slot.rank.value));
  env.set("GROUP_RANK", group_rank);
  env.set("NODE_RANK", group_rank);
  env.set("ROLE_RANK", std::to_string(slot.role_rank));
  env.set("ROLE_NAME", workers.role);
  env.set("LOCAL_WORLD_SIZE", std::to_string(start.slots.size()));
  env.set("WORLD_SIZE", world_size);
  env.set("GROUP_WORLD_SIZE", std::to_string(start.group_world_size));
  env.set("ROLE_WORLD_SIZE", world_size);  // all nodes of a job have the same role
  env.set("MASTER_ADDR", start.master_addr);
  env.set("MASTER_PORT", std::to_string(start.master_port));
}

void set_elastic(Environment& env, const wire::WorkerTemplate& workers,
                 const wire::StartWorkers& start, const WorkerFiles& files) {
  // torchrun counts the restarts taken from --max-restarts. In native mode the number tells
  // attempts apart, including restarts that the budget does not count (docs/compat.md).
  const bool counts_restarts = workers.compat && start.restarts;
  env.set("TORCHELASTIC_RESTART_COUNT",
          std::to_string(counts_restarts ? *start.restarts : start.attempt.value));
  env.set("TORCHELASTIC_MAX_RESTARTS", std::to_string(workers.max_restarts));
  env.set("TORCHELASTIC_RUN_ID", workers.run_id);
  env.set("TORCHELASTIC_USE_AGENT_STORE", workers.agent_store ? "True" : "False");
  env.set("TORCHELASTIC_ERROR_FILE", files.error_file);
  if (!workers.signals_to_handle.empty()) {
    env.set("TORCHELASTIC_SIGNALS_TO_HANDLE", workers.signals_to_handle);
  }
  if (!env.get("TORCH_NCCL_ASYNC_ERROR_HANDLING")) {
    env.set("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1");
  }
}

// An empty value unsets the variable: a robustrun inside a worker of another one must not pass on
// that worker's record.
void set_or_unset(Environment& env, std::string_view name, const std::string& value) {
  if (value.empty()) {
    env.unset(name);
  } else {
    env.set(name, value);
  }
}

void set_own(Environment& env, const wire::WorkerTemplate& workers, const wire::StartWorkers& start,
             const WorkerFiles& files) {
  env.set("ROBUSTRUN_RUN_ID", workers.run_id);
  env.set("ROBUSTRUN_ATTEMPT", std::to_string(start.attempt.value));
  set_or_unset(env, "ROBUSTRUN_INCARNATION",
               start.ordered_by == 0 ? "" : std::to_string(start.ordered_by));
  set_or_unset(env, "ROBUSTRUN_RECORD", files.record);
  set_or_unset(env, "ROBUSTRUN_SOCKET", files.socket);
  set_or_unset(env, "ROBUSTRUN_FLIGHT_SOCKET", files.flight);
  set_or_unset(env, "ROBUSTRUN_TRACE_DISPATCHER", workers.trace_dispatcher ? "1" : "");
  set_or_unset(env, "ROBUSTRUN_STACK_SIGNAL",
               workers.stack_signal == 0 ? "" : std::to_string(workers.stack_signal));
}

// NCCL loads it into the worker. A plugin that the user has chosen is called by ours, or stays;
// "none" stays. The path of our own plugin may be another robustrun's, or out of date.
void set_tracer(Environment& env, const WorkerFiles& files) {
  using Slot = ProfilerShare::Slot;
  constexpr const char* kPlugin = "NCCL_PROFILER_PLUGIN";
  const Slot slot = files.profiler.slot;
  const bool is_ours = slot == Slot::kShared || slot == Slot::kAlone ||
                       (slot == Slot::kFree && leaves_the_slot(env.get(kPlugin).value_or("")));
  if (!files.tracer.empty() && is_ours) {
    env.set(kPlugin, files.tracer);
    if (slot == Slot::kShared) {
      env.set("ROBUSTRUN_NCCL_BEHIND", files.profiler.behind);
      env.set("ROBUSTRUN_NCCL_VERSIONS", files.profiler.versions);
    } else {  // those of another robustrun, in whose worker this one runs
      env.unset("ROBUSTRUN_NCCL_BEHIND");
      env.unset("ROBUSTRUN_NCCL_VERSIONS");
    }
  }
  if (!files.ras_address.empty() && !env.get(kRasVariable)) {
    env.set(kRasVariable, files.ras_address);
  }
}

bool has_element(std::string_view path_list, std::string_view element) {
  while (true) {
    const std::size_t colon = path_list.find(':');
    if (path_list.substr(0, colon) == element) return true;
    if (colon == std::string_view::npos) return false;
    path_list.remove_prefix(colon + 1);
  }
}

// Appended, never put in front: the user's own modules take precedence.
void append_python_path(Environment& env, const wire::WorkerTemplate& workers) {
  if (workers.compat || workers.python_path.empty()) return;
  const std::string before = env.get("PYTHONPATH").value_or("");
  if (before.empty()) {
    env.set("PYTHONPATH", workers.python_path);
  } else if (!has_element(before, workers.python_path)) {
    env.set("PYTHONPATH", before + ":" + workers.python_path);
  }
}

// Returns a notice for the log, if any.
std::optional<std::string> set_omp(Environment& env, const wire::WorkerTemplate& workers,
                                   std::size_t local_world_size, unsigned cpus) {
  if (workers.omp == "off") return std::nullopt;
  const bool is_set = env.get("OMP_NUM_THREADS").has_value();
  if (workers.omp == "torchrun" || (workers.omp.empty() && workers.compat)) {
    if (is_set || local_world_size <= 1) return std::nullopt;
    env.set("OMP_NUM_THREADS", "1");
    return fmt::format(
        "each of {} workers has OMP_NUM_THREADS=1, as torchrun sets it; set the variable to "
        "choose another number",
        local_world_size);
  }
  if (workers.omp == "auto" || workers.omp.empty()) {
    if (is_set) return std::nullopt;
    const std::size_t threads = std::max<std::size_t>(1, cpus / local_world_size);
    env.set("OMP_NUM_THREADS", std::to_string(threads));
    return fmt::format(
        "each worker has OMP_NUM_THREADS={} ({} processors for {} workers); set "
        "the variable or --omp to change that",
        threads, cpus, local_world_size);
  }
  env.set("OMP_NUM_THREADS", workers.omp);
  return std::nullopt;
}

// --virtual-local-rank: the worker sees one GPU, the local_rank-th of those that the caller may
// see.
base::Status set_visible_device(Environment& env, unsigned local_rank) {
  const std::optional<std::string> visible = env.get("CUDA_VISIBLE_DEVICES");
  if (!visible) {
    env.set("CUDA_VISIBLE_DEVICES", std::to_string(local_rank));
    return {};
  }
  std::string_view rest = *visible;
  for (unsigned i = 0; i < local_rank; ++i) {
    const std::size_t comma = rest.find(',');
    if (comma == std::string_view::npos) {
      return base::fail(base::Errc::kInvalidArgument,
                        fmt::format("cannot give local rank {} a GPU of its own: "
                                    "CUDA_VISIBLE_DEVICES={} lists only {}; start fewer workers "
                                    "with --nproc-per-node or list more devices",
                                    local_rank, *visible, i + 1));
    }
    rest.remove_prefix(comma + 1);
  }
  env.set("CUDA_VISIBLE_DEVICES", base::trim(rest.substr(0, rest.find(','))));
  return {};
}

}  // namespace

std::vector<std::string> devices_of(const wire::WorkerTemplate& workers, base::LocalRank rank) {
  Environment env(workers.environment);
  if (!env.get("CUDA_VISIBLE_DEVICES")) return {std::to_string(rank.value)};
  if (!set_visible_device(env, rank.value)) return {};
  return {*env.get("CUDA_VISIBLE_DEVICES")};
}

base::Result<std::optional<std::string>> set_worker_variables(
    Environment& env, const wire::WorkerTemplate& workers, const wire::StartWorkers& start,
    const wire::WorkerSlot& slot, const WorkerFiles& files, unsigned cpus) {
  RR_ASSERT(!start.slots.empty());
  set_ranks(env, workers, start, slot);
  set_elastic(env, workers, start, files);
  set_own(env, workers, start, files);
  set_tracer(env, files);
  append_python_path(env, workers);
  if (workers.virtual_local_rank) RR_TRY(set_visible_device(env, slot.local_rank.value));
  return set_omp(env, workers, start.slots.size(), cpus);
}

}  // namespace robustrun::agent
