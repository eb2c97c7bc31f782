#pragma once
// Follows this node's GPUs through a helper that lives as long as the agent (nvml_health.h),
// because NVML's calls hang when a GPU has fallen off its bus. A helper that is silent for
// kGpuSilenceMax is reported and killed; the next one starts kGpuHelperAgain later.
//
// Without a driver (no /dev/nvidiactl, /proc/driver/nvidia or /dev/dxg) no helper is started. On
// the agent's loop.

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "agent/health/gpu_health.h"
#include "agent/node/node_context.h"

namespace robustrun::agent {

// Whether NVIDIA's driver is there; `root` is put before /dev and /proc.
[[nodiscard]] bool has_gpu_driver(const std::string& root);

class GpuWatch {
 public:
  using OnNews = std::function<void(GpuNews)>;
  // `node` outlives the watch; `on_news` comes from the loop. `root` is put before /dev and /proc.
  static std::unique_ptr<GpuWatch> start(NodeContext& node, const std::string& root,
                                         OnNews on_news);
  virtual ~GpuWatch() = default;
  // "GPU 3" for a bus id of the kernel's log; empty: unknown.
  [[nodiscard]] virtual std::string name_of(std::string_view pci) const = 0;
};

}  // namespace robustrun::agent
