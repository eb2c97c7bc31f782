#pragma once
// The helper `robustrun agent --watch-gpus`: follows NVML for as long as somebody reads what it
// writes, in lines: "beat" about once a second, "xid INDEX PCI CODE" for each error as it is told,
// and every kGpuInterval a line for each GPU (gpu_health.h). "none": there is no library, or it
// has no GPU; "refused …": it does not work, in its words. Both end it.

#include <functional>
#include <string_view>

namespace robustrun::agent {

// `write` says whether anybody still reads. Blocks until nobody does, or as long as the library
// does.
void watch_gpus(const std::function<bool(std::string_view)>& write);

}  // namespace robustrun::agent
