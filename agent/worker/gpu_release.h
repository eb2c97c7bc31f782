#pragma once
// Before new workers start, the GPUs' memory of those before them is free: waited for, for at most
// kGpuFreeMax, and then who holds it is named and the workers start all the same.
//
// NVML is asked by a helper, as everywhere (gpu_state.h): first when the old workers are gone, so
// that its start is no part of the new ones' when nothing is held. Where there is no driver, or the
// helper fails, nothing is waited for. On the agent's loop.

#include <functional>
#include <memory>

#include "agent/node/node_context.h"

namespace robustrun::agent {

class GpuRelease {
 public:
  // Looks at once at who uses the GPUs before us; the first workers wait for nothing. `node`
  // outlives this.
  static std::unique_ptr<GpuRelease> start(NodeContext& node);
  virtual ~GpuRelease() = default;
  // It is known who used the GPUs before; until then nothing is waited for.
  [[nodiscard]] virtual bool is_ready() const = 0;
  // `count` workers have ended just now, with all that was below them.
  virtual void workers_gone(std::size_t count) = 0;
  // Calls `go` once nothing is held, perhaps before it returns. A later call replaces it.
  virtual void when_free(std::function<void()> go) = 0;
};

}  // namespace robustrun::agent
