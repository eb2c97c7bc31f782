#pragma once
// The state of the GPUs of a suspected worker, according to NVIDIA's management library (NVML) and
// the kernel's log. A helper process calls the library (`robustrun agent --gpu-states`), because
// its calls hang when a GPU has fallen off its bus.

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "tracer/analysis/evidence.h"

namespace robustrun::agent {

// Called in the helper. Returns the helper's output; empty on a machine without the library. Blocks
// as long as the library does.
[[nodiscard]] std::string list_gpu_states();

// One GPU, as the helper printed it.
struct GpuReading {
  tracer::GpuState state;
  std::uint32_t index = 0;  // NVML's index: in the order of the PCI bus
  std::string uuid;
  std::string pci;  // "00000000:3b:00.0", lower case
  std::vector<pid_t> pids;  // processes that compute on it
};

// Parses the helper's output: at most kGpusMax GPUs. kUnavailable: the library failed; the text has
// its message.
base::Result<std::vector<GpuReading>> read_gpu_states(std::string_view answer);

// The GPUs of `all` on which processes of `tree` compute. If the library names none of these
// processes (its pids may be of another pid namespace), the GPUs that `visible` names
// (CUDA_VISIBLE_DEVICES: numbers or UUIDs; empty: all).
std::vector<GpuReading> gpus_of(std::vector<GpuReading> all, std::span<const pid_t> tree,
                                std::span<const std::string> visible);

// Adds the kernel log's lines about these GPUs ("NVRM: Xid (PCI:0000:3b:00): 79, …") since `since`,
// a time since boot. Each GPU keeps the newest kGpuErrorsMax errors. Never blocks. Adds nothing if
// the log may not be read.
void add_xid_lines(base::Nanos since, std::vector<GpuReading>& gpus,
                   const std::string& kmsg = "/dev/kmsg");

}  // namespace robustrun::agent
