#pragma once
// Holds new workers back until the previous workers' GPU memory is free, for at most kGpuFreeMax;
// then the log names the holders and the workers start nevertheless.
//
// A helper asks NVML, as everywhere (gpu_state.h). It is started when the old workers are gone, so
// that it does not delay the new ones when nothing is held. In compat mode, without a driver, or
// when the helper fails, nothing is waited for. Used on the agent's loop.

#include <functional>
#include <memory>

#include "agent/node/node_context.h"

namespace robustrun::agent {

class GpuRelease {
 public:
  // Looks at once at the processes that use the GPUs before our first workers, which do not wait.
  // `node` outlives this.
  static std::unique_ptr<GpuRelease> start(NodeContext& node);
  virtual ~GpuRelease() = default;
  // The earlier users of the GPUs are known; until then nothing is waited for.
  [[nodiscard]] virtual bool is_ready() const = 0;
  // `count` workers and all their descendants have just ended.
  virtual void workers_gone(std::size_t count) = 0;
  // Calls `go` once nothing is held, perhaps before it returns. A later call replaces it.
  virtual void when_free(std::function<void()> go) = 0;
};

}  // namespace robustrun::agent
