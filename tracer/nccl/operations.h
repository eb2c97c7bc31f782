#pragma once
// Operations in flight: called, handed to the device, finished.
//
// NCCL's "stop" of an operation says that it is queued, nothing more. It is finished when all of
// its kernel's channels have stopped and no flow of it is open; where NCCL does not tell of kernels
// (versions 1 and 2), when it had flows and none is open. What has nothing to wait for is parked:
// counted as done, and its slot free, but a late flow brings it back.
// The threads that call and those that move data meet in one word, RecordOperation::counts.

#include <cstdint>

#include "tracer/nccl/attach.h"
#include "tracer/nccl/handle.h"
#include "tracer/nccl/history.h"

namespace robustrun::tracer::nccl {

// The user calls it, within `group` (0: none). The handle is never null: what is started with it as
// its parent must not count twice.
[[nodiscard]] void* call_operation(Tables& t, const Task& task, std::uint64_t group,
                                   std::uint64_t now);
void end_call(Tables& t, Handle call);
// It is handed to the device. `parent`: its call, if NCCL tells; every other one is a new operation
// in `group`, as those of a replayed CUDA graph are. Null when there is no slot.
[[nodiscard]] void* start_task(Tables& t, const Task& task, Handle parent, std::uint64_t group,
                               std::uint64_t now);
void end_task(Tables& t, Handle task, std::uint64_t now);

[[nodiscard]] void* start_channel(Tables& t, Handle task, std::uint32_t channel,
                                  std::uint64_t timer_ns, std::uint64_t now);
void set_channel_stop(Tables& t, Handle channel, std::uint64_t timer_ns);
void end_channel(Tables& t, Handle channel, std::uint64_t now);

// For flows: the operation is in flight and has one more, whose generation is returned (0: it is
// not); has one less; has moved.
[[nodiscard]] std::uint64_t add_flow(Tables& t, Handle task);
void remove_flow(Tables& t, std::uint16_t slot, std::uint64_t generation, std::uint64_t now);
void touch_operation(Tables& t, std::uint16_t slot, std::uint64_t generation, std::uint64_t now);
[[nodiscard]] bool is_in_flight(Tables& t, std::uint16_t slot, std::uint64_t generation);

// Frees the slots of a communicator that is closed.
void forget_operations(Tables& t, std::uint16_t comm);

}  // namespace robustrun::tracer::nccl
