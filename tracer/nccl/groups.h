#pragma once
// Groups of calls: from ncclGroupStart to the end of ncclGroupEnd, of one or more communicators.
// And launches. Both say since when a communicator's thread is inside NCCL.

#include <cstdint>

#include "tracer/nccl/abi.h"
#include "tracer/nccl/attach.h"
#include "tracer/nccl/handle.h"

namespace robustrun::tracer::nccl {

// The handle is never null: operations of the same group have the same one for a parent. `comm` is
// merely the first communicator of the group.
[[nodiscard]] void* start_group(Tables& t, std::uint16_t comm, std::uint64_t now);
// A call on `comm` within it; the call is then inside NCCL until end_call().
void enter_group(Tables& t, Handle group, std::uint16_t comm, std::uint64_t now);
// The user's own code runs between GroupStartApiStop and GroupEndApiStart.
void set_group_state(Tables& t, Handle group, abi::State state, std::uint64_t now);
void end_group(Tables& t, Handle group);

// A group of tasks, of which nothing is kept but that it differs from others. Never null.
[[nodiscard]] void* new_batch();

[[nodiscard]] void* start_launch(Tables& t, std::uint16_t comm, std::uint64_t now);
void end_launch(Tables& t, Handle launch);

}  // namespace robustrun::tracer::nccl
