#pragma once
// Who still holds memory of GPUs that a worker of this node had. Pure but for gpu_user().
//
// A killed process gives its GPU's memory back only when the driver has taken all of it down, which
// may be after its parent has reaped it: new workers that start before that run out of memory.

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "agent/gpu/gpu_state.h"
#include "wire/messages/worker_template.h"

namespace robustrun::agent {

enum class GpuUser : std::uint8_t {
  kForeign,  // somebody else's, or one of our standbys: it may stay
  kOurs,  // of this run on this node
  kGone,  // dead, or of another pid namespace
};

struct GpuHolder {
  std::uint32_t gpu = 0;  // NVML's index
  pid_t pid = 0;  // 0: the library names no process of that GPU
  friend bool operator==(const GpuHolder&, const GpuHolder&) = default;
};

// `before`: the same GPUs when none of our workers had begun; who used them then may go on. Where
// the library names nobody at all, memory above what was used then is what counts.
[[nodiscard]] std::vector<GpuHolder> gpu_holders(const std::vector<GpuReading>& now,
                                                 const std::vector<GpuReading>& before,
                                                 const std::function<GpuUser(pid_t)>& user_of);

// From /proc; blocks for as long as the kernel does.
[[nodiscard]] GpuUser gpu_user(pid_t pid, const wire::WorkerTemplate& workers);

// "GPU 0 by pid 12, which is dead; GPU 1 by …" at most kGpuHoldersShown of them.
[[nodiscard]] std::string in_words(const std::vector<GpuHolder>& holders,
                                   const std::function<GpuUser(pid_t)>& user_of);

}  // namespace robustrun::agent
