#pragma once
// What sysfs says about this machine's processors, NUMA nodes and GPUs, for spawn/numa.h.
//
// Every call reads files again. Where files are missing (a kernel without NUMA, a container without
// cache files), the machine has one NUMA node and one cache.

#include <optional>
#include <string>
#include <vector>

#include "agent/node/cpu_set.h"

namespace robustrun::agent {

class Machine {
 public:
  // `root` is put before /sys and /proc. nodes() and cpus_of_node() ignore processors that are not
  // in `allowed`.
  Machine(std::string root, CpuSet allowed)
      : root_(std::move(root)), allowed_(std::move(allowed)) {}

  // NUMA nodes that have an allowed processor, ascending.
  [[nodiscard]] std::vector<unsigned> nodes() const;
  [[nodiscard]] CpuSet cpus_of_node(unsigned node) const;
  // NUMA nodes that have memory, ascending; empty: a kernel without NUMA.
  [[nodiscard]] std::vector<unsigned> nodes_with_memory() const;
  // The lowest processor of the physical core of `cpu`.
  [[nodiscard]] unsigned core_of(unsigned cpu) const;
  // The lowest processor that shares the highest cache level of `cpu`; 0 if the caches are unknown.
  [[nodiscard]] unsigned cache_of(unsigned cpu) const;
  [[nodiscard]] unsigned socket_of(unsigned cpu) const;
  // The NUMA node of each GPU that CUDA shows for this value of CUDA_VISIBLE_DEVICES (nullopt: the
  // variable is not set), in CUDA's order.
  [[nodiscard]] std::vector<unsigned> nodes_of_gpus(
      const std::optional<std::string>& cuda_visible_devices) const;

 private:
  [[nodiscard]] std::string read(const std::string& path) const;
  [[nodiscard]] std::vector<std::string> list(const std::string& path) const;
  [[nodiscard]] unsigned node_of_pci(std::string address) const;
  [[nodiscard]] std::optional<std::size_t> find_gpu(const std::vector<std::string>& gpus,
                                                    std::string_view entry) const;

  std::string root_;
  CpuSet allowed_;
};

}  // namespace robustrun::agent
