#pragma once
// What sysfs says about this machine's processors, NUMA nodes and GPUs, for spawn/numa.h.
//
// Reads files on every call (a handful at the start of an attempt) and keeps nothing. Where files
// are missing (a kernel without NUMA, a container without cache files), there is one node, one
// cache.

#include <optional>
#include <string>
#include <vector>

#include "agent/node/cpu_set.h"

namespace robustrun::agent {

class Machine {
 public:
  // `root` is put before /sys and /proc; nodes() and cpus_of_node() know only processors of
  // `allowed`.
  Machine(std::string root, CpuSet allowed)
      : root_(std::move(root)), allowed_(std::move(allowed)) {}

  // NUMA nodes that have an allowed processor, ascending.
  [[nodiscard]] std::vector<unsigned> nodes() const;
  [[nodiscard]] CpuSet cpus_of_node(unsigned node) const;
  // NUMA nodes that have memory, ascending; empty: a kernel without NUMA.
  [[nodiscard]] std::vector<unsigned> nodes_with_memory() const;
  // The lowest processor in the same physical core as `cpu`, or in the same largest shared cache.
  [[nodiscard]] unsigned core_of(unsigned cpu) const;
  [[nodiscard]] unsigned cache_of(unsigned cpu) const;
  [[nodiscard]] unsigned socket_of(unsigned cpu) const;
  // NUMA node of each GPU that CUDA shows for `cuda_visible_devices`, in CUDA's order.
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
