#pragma once
// Which processes still hold memory of GPUs that a worker of this node used. Pure, except
// gpu_user().
//
// The GPU memory of a killed process is free only after the driver's clean-up, which may end after
// the parent has reaped the process. Workers that start before the clean-up's end run out of
// memory.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/gpu/gpu_state.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

enum class GpuUser : std::uint8_t {
  kForeign,  // of another job, or a standby worker: it may stay
  kOurs,  // of this run on this node
  kGone,  // dead, or in another pid namespace
};

struct GpuHolder {
  std::uint32_t gpu = 0;  // index in NVML
  pid_t pid = 0;  // 0: NVML names no process of this GPU
  friend bool operator==(const GpuHolder&, const GpuHolder&) = default;
};

// `before`: the same GPUs before this run's first workers began; processes that used a GPU then do
// not count. If NVML names no process of a GPU, the GPU counts as held if it uses more memory than
// in `before`, by more than kGpuSlackMib.
[[nodiscard]] std::vector<GpuHolder> gpu_holders(const std::vector<GpuReading>& now,
                                                 const std::vector<GpuReading>& before,
                                                 const std::function<GpuUser(pid_t)>& user_of);

// From /proc; blocks as long as the kernel does.
[[nodiscard]] GpuUser gpu_user(pid_t pid, const wire::WorkerTemplate& workers);

// "GPU 0 by pid 12, which has ended; GPU 1 by …", at most kGpuHoldersShown of them.
[[nodiscard]] std::string in_words(const std::vector<GpuHolder>& holders,
                                   const std::function<GpuUser(pid_t)>& user_of);

}  // namespace robustrun::agent
