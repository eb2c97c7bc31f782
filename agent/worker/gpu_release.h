#pragma once
// Holds new workers back until the previous workers' GPU memory is free. After kGpuFreeMax the log
// names the holders, and the workers start nevertheless.
//
// A helper process asks NVML (gpu_state.h). It starts as soon as the old workers are gone, so that
// it does not delay the new workers if no memory is held. In compat mode, without a driver, or if
// the helper fails, new workers do not wait. Used on the agent's loop.

#include <functional>
#include <memory>

#include "agent/node/node_context.h"

namespace robustrun::agent {

class GpuRelease {
 public:
  // Looks at once which processes already use the GPUs. The run's first workers do not wait for
  // that. `node` outlives this object.
  static std::unique_ptr<GpuRelease> start(NodeContext& node);
  virtual ~GpuRelease() = default;
  // Whether that first look has succeeded. Until then, workers do not wait.
  [[nodiscard]] virtual bool is_ready() const = 0;
  // To be called when `count` workers and all their descendants have just ended.
  virtual void workers_gone(std::size_t count) = 0;
  // Calls `go` once no memory is held, or after kGpuFreeMax; perhaps before this returns. A later
  // call replaces `go`.
  virtual void when_free(std::function<void()> go) = 0;
};

}  // namespace robustrun::agent
