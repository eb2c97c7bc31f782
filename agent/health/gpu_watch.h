#pragma once
// Follows this node's GPUs through a helper process (nvml_health.h), because NVML's calls hang when
// a GPU has fallen off its bus. A helper that is silent for kGpuSilenceMax is reported and killed.
// The next helper starts kGpuHelperAgain after the end of one, unless there are no GPUs.
//
// Without a driver (no /dev/nvidiactl, /proc/driver/nvidia or /dev/dxg) no helper is started. Used
// on the agent's loop.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "agent/health/gpu_health.h"
#include "agent/node/node_context.h"
#include "agent/process/ask_program.h"
#include "base/io/timer.h"

namespace robustrun::agent {

// Whether NVIDIA's driver is there; `root` is put before /dev and /proc.
[[nodiscard]] bool has_gpu_driver(const std::string& root);

class GpuWatch {
 public:
  using OnNews = std::function<void(GpuNews)>;
  // `node` outlives the watch. `root` is put before /dev and /proc. `on_news` is called from the
  // loop, and must not destroy the watch.
  GpuWatch(NodeContext& node, const std::string& root, OnNews on_news)
      : node_(node), on_news_(std::move(on_news)), check_(node.executor) {
    if (has_gpu_driver(root)) start();
  }
  // "GPU 3" for a bus id of the kernel's log; empty: unknown.
  [[nodiscard]] std::string name_of(std::string_view pci) const { return history_.name_of(pci); }

 private:
  void start();
  void check();
  void on_silence();
  void stop();
  void take(std::string_view text);
  void take_line(const std::string& line);
  void report_refusal(const std::string& why);
  void report(std::string line, bool over);

  NodeContext& node_;
  const OnNews on_news_;
  base::Timer check_;
  std::unique_ptr<AskedProgram> program_;
  GpuHistory history_;
  std::string rest_;
  base::Nanos beat_at_{};
  bool silence_reported_ = false;
  bool refusal_reported_ = false;
  bool is_useless_ = false;
};

}  // namespace robustrun::agent
