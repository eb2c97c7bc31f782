#pragma once
// The activation mask: which events NCCL reports. NCCL has one mask for all communicators.

#include <cstdint>

#include "tracer/nccl/attach.h"

namespace robustrun::tracer::nccl {

// Writes the mask for interface version `version` to *mask and keeps the pointer, because the agent
// may change the mask later. Returns whether NCCL will report kernels.
bool set_mask(Tables& t, int version, int* mask, std::uint64_t now_ns);
// Applies the agent's request and the request of the plugin behind ours (behind.h); costs a few
// loads if neither has changed. Switches only events that are not needed to see that an operation
// is done, because operations in flight keep the mask with which they began. The mask never becomes
// 0, because NCCL would then call no callback that could switch events on again.
void follow_wish(Tables& t, std::uint64_t now_ns);
// Whether NCCL certainly reports the flows of an operation that is handed to the device now. NCCL
// applies the mask as it was when the operation was called, so this is false for a second after
// flows were switched on.
[[nodiscard]] bool tells_flows(std::uint64_t now_ns);

}  // namespace robustrun::tracer::nccl
