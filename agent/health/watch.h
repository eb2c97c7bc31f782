#pragma once
// Watches this machine while workers run on it, and tells the supervisor what changed: NodeHealth.
//
// What files say is looked at on threads of this watch's own, one for each probe: a dead mount or
// adapter holds its own probe and nothing else, is told of once, and is asked again when it has
// answered. The kernel's log is followed on the loop, NVML in a helper process (gpu_watch.h).
// Owned by the Agent, on its loop; ends with it.

#include <memory>
#include <string>

#include "agent/node/node_context.h"

namespace robustrun::agent {

class HealthWatch {
 public:
  // `node` outlives the watch.
  static std::unique_ptr<HealthWatch> start(NodeContext& node);
  virtual ~HealthWatch() = default;
};

// What is put before /dev, /proc and /sys: ROBUSTRUN_HEALTH_ROOT of the workers' environment, for
// tests and drills, with this node's number in place of "{node}". Mostly empty.
[[nodiscard]] std::string health_root(const NodeContext& node);

}  // namespace robustrun::agent
