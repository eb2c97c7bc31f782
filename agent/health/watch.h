#pragma once
// Watches this machine for the time of the run, and reports changes to the supervisor (NodeHealth).
//
// Each probe has a thread of its own, so that a dead mount or adapter delays only its own probe. If
// a look does not end, this is reported once, and the probe looks again when the look has ended.
// The kernel's log is read on the loop, and NVML is called in a helper process (gpu_watch.h). Owned
// by the NodeAgent, on its loop.

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

// The prefix for /dev, /proc and /sys, usually empty. Tests and drills set it by
// ROBUSTRUN_HEALTH_ROOT in the workers' environment; "{node}" is replaced by this node's number.
[[nodiscard]] std::string health_root(const NodeContext& node);

}  // namespace robustrun::agent
