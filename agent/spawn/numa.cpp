// Bindings follow torch/numa/binding.py: a device's NUMA node, then all of it (node), all of its
// socket (socket), an even share of its physical cores (exclusive), or one of its largest-cache
// groups (core-complex).
#include "agent/spawn/numa.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>

#include "agent/node/machine.h"

namespace robustrun::agent {
namespace {

using base::Errc;

// Local rank i works with device i.
struct Devices {
  std::vector<unsigned> nodes;  // NUMA node of each device

  // How many devices share the NUMA node of `device`, and its position among them.
  struct Share {
    unsigned position = 0;
    unsigned count = 0;
  };
  [[nodiscard]] Share share(std::size_t device) const {
    Share share;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i] != nodes[device]) continue;
      if (i < device) ++share.position;
      ++share.count;
    }
    return share;
  }
};

base::Result<CpuSet> bind_node(const Machine& machine, const Devices& devices, std::size_t rank) {
  return machine.cpus_of_node(devices.nodes[rank]);
}

base::Result<CpuSet> bind_socket(const Machine& machine, const Devices& devices, std::size_t rank) {
  const CpuSet own = machine.cpus_of_node(devices.nodes[rank]);
  if (own.empty()) return own;
  const unsigned socket = machine.socket_of(*own.begin());
  CpuSet cpus;
  for (const unsigned node : machine.nodes()) {
    CpuSet more = machine.cpus_of_node(node);
    if (!more.empty() && machine.socket_of(*more.begin()) == socket) cpus.merge(more);
  }
  return cpus;
}

base::Result<CpuSet> bind_exclusive(const Machine& machine, const Devices& devices,
                                    std::size_t rank) {
  std::map<unsigned, CpuSet> cores;
  for (const unsigned cpu : machine.cpus_of_node(devices.nodes[rank])) {
    cores[machine.core_of(cpu)].insert(cpu);
  }
  const auto [position, count] = devices.share(rank);
  const auto total = static_cast<unsigned>(cores.size());
  if (total < count) {
    return base::fail(Errc::kInvalidArgument,
                      fmt::format("cannot bind exclusively: NUMA node {} has {} usable cores for "
                                  "{} devices; use --numa-binding=node",
                                  devices.nodes[rank], total, count));
  }
  // The first `total % count` devices get one more core.
  const unsigned first = position * (total / count) + std::min(position, total % count);
  const unsigned size = total / count + (position < total % count ? 1 : 0);
  CpuSet cpus;
  auto core = std::next(cores.begin(), static_cast<std::ptrdiff_t>(first));
  for (unsigned i = 0; i < size; ++i) cpus.merge((core++)->second);
  return cpus;
}

base::Result<CpuSet> bind_core_complex(const Machine& machine, const Devices& devices,
                                       std::size_t rank) {
  std::map<unsigned, CpuSet> by_cache;
  for (const unsigned cpu : machine.cpus_of_node(devices.nodes[rank])) {
    by_cache[machine.cache_of(cpu)].insert(cpu);
  }
  if (by_cache.empty()) return CpuSet();
  std::vector<CpuSet> complexes;
  for (auto& [cache, cpus] : by_cache) complexes.push_back(std::move(cpus));
  // Larger ones first; equal ones stay in ascending order.
  std::ranges::stable_sort(complexes, std::ranges::greater(), &CpuSet::size);
  return complexes[devices.share(rank).position % complexes.size()];
}

struct ModeRow {
  std::string_view name;
  base::Result<CpuSet> (*bind)(const Machine&, const Devices&, std::size_t rank);
};

constexpr ModeRow kModes[] = {
    {"node", bind_node},
    {"socket", bind_socket},
    {"exclusive", bind_exclusive},
    {"core-complex", bind_core_complex},
};

// Without a GPU per rank, consecutive ranks share a node.
Devices spread(const Machine& machine, std::size_t count) {
  const std::vector<unsigned> nodes = machine.nodes();
  Devices devices;
  for (std::size_t i = 0; i < count; ++i) {
    devices.nodes.push_back(nodes[i * nodes.size() / count]);
  }
  return devices;
}

base::Result<const ModeRow*> find_mode(const NumaRequest& request) {
  if (request.mode.empty()) return nullptr;
  const auto mode = std::ranges::find(kModes, request.mode, &ModeRow::name);
  if (mode == std::end(kModes)) {
    return base::fail(Errc::kInvalidArgument,
                      fmt::format("cannot use --numa-binding={}: choose node, socket, exclusive "
                                  "or core-complex",
                                  request.mode));
  }
  return mode;
}

// The nodes of `cpus` that have memory; "" and a notice if none has.
std::string memory_of(const Machine& machine, const NumaRequest& request, const CpuSet& cpus,
                      unsigned device_node, std::vector<std::string>& notices) {
  const std::vector<unsigned> with_memory = machine.nodes_with_memory();
  CpuSet nodes;
  for (const unsigned node : with_memory) {
    const CpuSet own = machine.cpus_of_node(node);
    const bool is_near = std::ranges::any_of(own, [&](unsigned cpu) { return cpus.contains(cpu); });
    if (is_near || (cpus.empty() && node == device_node)) nodes.insert(node);
  }
  if (!nodes.empty()) return request.memory + ":" + format_cpu_list(nodes);
  std::string notice = with_memory.empty() ? "this machine has no NUMA nodes to choose memory from"
                                           : fmt::format("NUMA node {} has no memory", device_node);
  notice = fmt::format("--numa-memory={}: {}", request.memory, notice);
  if (std::ranges::find(notices, notice) == notices.end()) notices.push_back(std::move(notice));
  return {};
}

}  // namespace

base::Result<NumaPlan> plan_numa_binding(const NumaRequest& request) {
  const ModeRow* const mode = RR_TRY(find_mode(request));
  NumaPlan plan;
  if (mode == nullptr && request.memory.empty()) return plan;
  const Machine machine(request.root,
                        CpuSet(request.allowed_cpus.begin(), request.allowed_cpus.end()));
  Devices devices{machine.nodes_of_gpus(request.cuda_visible_devices)};
  if (devices.nodes.size() < request.local_world_size) {
    plan.notices.push_back(fmt::format(
        "{}: {} GPUs for {} workers, so the workers are spread evenly over the {} NUMA nodes",
        mode == nullptr ? "--numa-memory=" + request.memory : "--numa-binding=" + request.mode,
        devices.nodes.size(), request.local_world_size, machine.nodes().size()));
    devices = spread(machine, request.local_world_size);
  }
  for (unsigned rank = 0; rank < request.local_world_size; ++rank) {
    CpuSet cpus;
    if (mode != nullptr) cpus = RR_TRY(mode->bind(machine, devices, rank));
    if (mode != nullptr && cpus.empty()) {
      return base::fail(Errc::kNotFound,
                        fmt::format("cannot bind local rank {}: none of the processors of NUMA "
                                    "node {} may be used by this process (see taskset or the "
                                    "cgroup's cpuset)",
                                    rank, devices.nodes[rank]));
    }
    if (mode != nullptr) plan.cpus.push_back(format_cpu_list(cpus));
    if (request.memory.empty()) continue;
    plan.memory.push_back(memory_of(machine, request, cpus, devices.nodes[rank], plan.notices));
  }
  return plan;
}

}  // namespace robustrun::agent
