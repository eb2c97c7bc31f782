#pragma once
// The processes that still hold memory of GPUs that a worker of this node used. Pure but for
// gpu_user().
//
// The GPU memory of a killed process is free only after the driver's clean-up, which may end after
// the parent has reaped the process. Workers that start before that run out of memory.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/gpu/gpu_state.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

enum class GpuUser : std::uint8_t {
  kForeign,  // another job's, or one of our standbys: it may stay
  kOurs,  // of this run on this node
  kGone,  // dead, or in another pid namespace
};

struct GpuHolder {
  std::uint32_t gpu = 0;  // NVML's index
  pid_t pid = 0;  // 0: NVML names no process of that GPU
  friend bool operator==(const GpuHolder&, const GpuHolder&) = default;
};

// `before`: the same GPUs before our first workers began; processes that used them then may go on.
// If NVML names no process of a GPU, memory that exceeds the level of `before` by more than
// kGpuSlackMib counts as held.
[[nodiscard]] std::vector<GpuHolder> gpu_holders(const std::vector<GpuReading>& now,
                                                 const std::vector<GpuReading>& before,
                                                 const std::function<GpuUser(pid_t)>& user_of);

// From /proc; blocks as long as the kernel does.
[[nodiscard]] GpuUser gpu_user(pid_t pid, const wire::WorkerTemplate& workers);

// "GPU 0 by pid 12, which has ended; GPU 1 by …", at most kGpuHoldersShown of them.
[[nodiscard]] std::string in_words(const std::vector<GpuHolder>& holders,
                                   const std::function<GpuUser(pid_t)>& user_of);

}  // namespace robustrun::agent
