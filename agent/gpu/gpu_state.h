#pragma once
// What the GPUs of a suspected worker do, according to NVIDIA's management library and the kernel's
// log. As in gpu_list.h a helper asks the library (`robustrun agent --gpu-states`), because it
// hangs when a GPU has fallen off its bus.

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

// The whole work of the helper: returns what it prints; empty on a machine without the library.
// Blocks as long as the library does.
[[nodiscard]] std::string list_gpu_states();

// One GPU, as the helper printed it.
struct GpuReading {
  tracer::GpuState state;
  std::uint32_t index = 0;  // NVML's: in the order of the PCI bus
  std::string uuid;
  std::string pci;  // "00000000:3b:00.0", lower case
  std::vector<pid_t> pids;  // processes that compute on it
};

// kUnavailable: the library refused, with its own message. At most kGpusMax.
base::Result<std::vector<GpuReading>> read_gpu_states(std::string_view answer);

// The GPUs that processes of `tree` compute on. If the library names none of these processes (it
// may report another pid namespace), those of `visible` (CUDA_VISIBLE_DEVICES: numbers or UUIDs;
// empty: all).
std::vector<GpuReading> gpus_of(std::vector<GpuReading> all, std::span<const pid_t> tree,
                                std::span<const std::string> visible);

// Adds the kernel log's lines about them ("NVRM: Xid (PCI:0000:3b:00): 79, …") since `since`, which
// counts from boot: at most kGpuErrorsMax, the newest. Never blocks. Adds nothing when the log may
// not be read.
void add_xid_lines(base::Nanos since, std::vector<GpuReading>& gpus,
                   const std::string& kmsg = "/dev/kmsg");

}  // namespace robustrun::agent
