#pragma once
// The helper `robustrun agent --watch-gpus`: follows NVML for as long as its output is read. It
// writes lines: "beat" about once a second, "xid INDEX PCI CODE" for each error, and every
// kGpuInterval a line per GPU (gpu_health.h). "none": there is no library, or no GPU; "refused …":
// the library does not work, with its message. Both end the helper.

#include <functional>
#include <string_view>

namespace robustrun::agent {

// `write` returns false when its output is no longer read. Blocks until then, or as long as the
// library does.
void watch_gpus(const std::function<bool(std::string_view)>& write);

}  // namespace robustrun::agent
