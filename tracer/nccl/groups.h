#pragma once
// Launches, and groups of calls: from ncclGroupStart to the end of ncclGroupEnd, on one or more
// communicators. Both record since when a communicator's thread has been inside NCCL.

#include <cstdint>

#include "tracer/nccl/abi.h"
#include "tracer/nccl/attach.h"
#include "tracer/nccl/handle.h"

namespace robustrun::tracer::nccl {

// Returns the group's handle. It is never null, because operations of one group are recognised by
// their common parent. `comm`: the first communicator of the group, which may have others.
[[nodiscard]] void* start_group(Tables& t, std::uint16_t comm, std::uint64_t now);
// Notes a call on `comm` within the group; the call is inside NCCL until end_call().
void enter_group(Tables& t, Handle group, std::uint16_t comm, std::uint64_t now);
// Between GroupStartApiStop and GroupEndApiStart the user's code runs, outside NCCL.
void set_group_state(Tables& t, Handle group, abi::State state, std::uint64_t now);
void end_group(Tables& t, Handle group);

// A new handle for a group of tasks; no state is kept for it. Never null.
[[nodiscard]] void* new_batch();

[[nodiscard]] void* start_launch(Tables& t, std::uint16_t comm, std::uint64_t now);
void end_launch(Tables& t, Handle launch);

}  // namespace robustrun::tracer::nccl
