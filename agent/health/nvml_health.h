#pragma once
// The helper process `robustrun agent --watch-gpus`, which watches the GPUs through NVML. It writes
// lines: "beat" about once a second, "xid INDEX PCI CODE" for each error of a GPU, and every
// kGpuInterval a line per GPU (gpu_line() in gpu_health.h). It ends after a line "none" if there is
// no library or no GPU, and after "refused MESSAGE" if the library does not work.

#include <functional>
#include <string_view>

namespace robustrun::agent {

// Blocks until `write` returns false because the output is no longer read; longer if the library
// hangs.
void watch_gpus(const std::function<bool(std::string_view)>& write);

}  // namespace robustrun::agent
