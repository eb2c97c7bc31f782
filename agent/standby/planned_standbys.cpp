#include "agent/standby/planned_standbys.h"

#include <utility>
#include <vector>

#include "agent/spawn/worker_spawn.h"
#include "agent/spawn/worker_version.h"
#include "base/io/log.h"
#include "wire/messages/limits.h"

namespace robustrun::agent {
namespace {

base::Result<std::vector<StandbySet::Wanted>> wanted_standbys(const NodeContext& node,
                                                              const wire::StartWorkers& like,
                                                              unsigned usable_cpus) {
  const NumaPlan bindings = RR_TRY(plan_bindings(node.workers, like.slots.size()));
  std::vector<StandbySet::Wanted> wanted;
  for (const wire::WorkerSlot& slot : like.slots) {
    const WorkerFiles files = worker_files(node, slot.rank, like.attempt, {}, {});
    SpawnPlan plan{like, slot, files, {}, {}, usable_cpus};
    const std::size_t local = slot.local_rank.value;
    if (local < bindings.cpus.size()) plan.cpus = bindings.cpus[local];
    if (local < bindings.memory.size()) plan.memory = bindings.memory[local];
    PlannedSpawn planned = RR_TRY(plan_spawn(node, std::move(plan)));
    wanted.push_back({slot.local_rank, slot.rank, std::move(planned.spawn)});
  }
  return wanted;
}

}  // namespace

void keep_spare_standbys(NodeContext& node, StandbySet& standbys, const wire::KeepStandbys& order,
                         unsigned usable_cpus) {
  if (node.own_command) return;
  if (order.list.empty() || order.list.size() > wire::kModulesBytesMax ||
      order.like.slots.empty()) {
    return standbys.keep({}, {});
  }
  node.workers = workers_of(node, order.like.version);
  auto wanted = wanted_standbys(node, order.like, usable_cpus);
  if (wanted) return standbys.keep(*std::move(wanted), order.list);
  // Its workers would not start either, and then an error is logged.
  RR_LOG(kDebug, {}, "no standby workers: {}", wanted.error().what);
  standbys.keep({}, {});
}

void begin_warm_workers(NodeContext& node, StandbySet& standbys, const wire::StartWorkers& order,
                        const std::string& list, unsigned usable_cpus) {
  if (node.own_command) return;
  auto wanted = wanted_standbys(node, order, usable_cpus);
  if (wanted) standbys.begin_warm(*std::move(wanted), list);
}

}  // namespace robustrun::agent
