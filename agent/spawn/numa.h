#pragma once
// Which processors each worker is bound to (--numa-binding), and which NUMA nodes' memory it uses
// (--numa-memory), from sysfs.
//
// The device of local rank i is the i-th GPU in CUDA's visible order. With too few GPUs, ranks are
// spread evenly over the NUMA nodes, and a notice says so. Without --numa-memory there is no memory
// policy, as in torchrun: a page lies on the node whose processor first touches it. A memory policy
// names the nodes of the processors that the worker is bound to or, without a binding, its device's
// node.

#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::agent {

struct NumaRequest {
  std::string mode;  // node, socket, exclusive, core-complex; empty: processors are not bound
  unsigned local_world_size = 1;
  std::optional<std::string> cuda_visible_devices;  // nullopt: not set
  std::vector<unsigned> allowed_cpus;  // ascending (usable_cpus.h)
  std::string root;  // put before /sys and /proc; empty: this machine
  std::string memory{};  // prefer, bind; empty: no policy
};

struct NumaPlan {
  std::vector<std::string> cpus;  // by local rank, "0-3,8"; empty: not bound
  std::vector<std::string> memory{};  // by local rank, "bind:0-1"; empty: no policy
  std::vector<std::string> notices;  // for the log
};

// kInvalidArgument: unknown mode, or, for `exclusive`, a NUMA node with fewer usable cores than
// devices. kNotFound: a rank would have no processor.
base::Result<NumaPlan> plan_numa_binding(const NumaRequest& request);

}  // namespace robustrun::agent
