#pragma once
// Watches this machine while workers run on it, and reports changes to the supervisor: NodeHealth.
//
// Each probe reads files on a thread of its own. A dead mount or adapter therefore holds up its own
// probe only; it is reported once, and looked at again when it has answered. The kernel's log is
// followed on the loop, NVML in a helper process (gpu_watch.h). Owned by the NodeAgent, on its
// loop; ends with it.

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

// The prefix for /dev, /proc and /sys: ROBUSTRUN_HEALTH_ROOT of the workers' environment, for tests
// and drills, with "{node}" replaced by this node's number. Usually empty.
[[nodiscard]] std::string health_root(const NodeContext& node);

}  // namespace robustrun::agent
