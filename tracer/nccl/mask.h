#pragma once
// The activation mask: which events NCCL reports. NCCL has one int for all communicators.

#include <cstdint>

#include "tracer/nccl/attach.h"

namespace robustrun::tracer::nccl {

// Writes the mask for interface version `version` to *mask and keeps the pointer, because the agent
// may change the mask later. Returns whether kernels are reported.
bool set_mask(Tables& t, int version, int* mask, std::uint64_t now_ns);
// Applies the agent's request and that of the plugin behind ours; costs a few loads if neither has
// changed. Only events on which no completion depends are switched, because operations in flight
// keep the mask they began with. The mask is never 0, since then no callback would be left to
// switch it on again.
void follow_wish(Tables& t, std::uint64_t now_ns);
// Whether NCCL certainly reports the flows of an operation that is handed to the device now. NCCL
// applies the mask of the time of the call, which is earlier, so this is false for a second after
// flows were switched on.
[[nodiscard]] bool tells_flows(std::uint64_t now_ns);

}  // namespace robustrun::tracer::nccl
