#pragma once
// Which events NCCL reports: its activation mask, one int in NCCL for all communicators.

#include <cstdint>

#include "tracer/nccl/attach.h"

namespace robustrun::tracer::nccl {

// Writes the mask for an interface of that version, and keeps its address: the agent may change it
// later. True: kernels are reported.
bool set_mask(Tables& t, int version, int* mask, std::uint64_t now_ns);
// Follows the agent's wish. One load when it is the same as before. Only events that no completion
// depends on come and go, since the operations in flight keep the mask that they began with; the
// mask is never 0, or no callback would be left to switch it on again.
void follow_wish(Tables& t, std::uint64_t now_ns);
// Whether NCCL surely tells of the flows of an operation that is handed over now. It takes the mask
// when the operation is called, and we hear of that later, so for a second after they were switched
// on nothing is sure.
[[nodiscard]] bool tells_flows(std::uint64_t now_ns);

}  // namespace robustrun::tracer::nccl
