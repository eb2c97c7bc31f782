#pragma once
// Operations in flight: called, handed to the device, finished.
//
// NCCL's "stop" event of an operation means only that it is queued. The operation is finished when
// all channels of its kernel have stopped and none of its flows is open. Where NCCL does not report
// kernels (versions 1 and 2), it is finished when it had flows and none is open. An operation with
// neither kernel events nor flows is parked: it counts as done and its slot is free, but a late
// flow revives it. The threads that call NCCL and those that move its data synchronise through one
// word, RecordOperation::counts.

#include <cstdint>

#include "tracer/nccl/attach.h"
#include "tracer/nccl/handle.h"
#include "tracer/nccl/history.h"

namespace robustrun::tracer::nccl {

// The user calls an operation within `group` (0: none). Never null: the task started with this
// handle as its parent must not count as a second operation.
[[nodiscard]] void* call_operation(Tables& t, const Task& task, std::uint64_t group,
                                   std::uint64_t now);
void end_call(Tables& t, Handle call);
// An operation is handed to the device. `parent`: its call, if NCCL passes it. A task with another
// parent, such as one of a replayed CUDA graph, is a new operation in `group`. Null if no slot is
// free.
[[nodiscard]] void* start_task(Tables& t, const Task& task, Handle parent, std::uint64_t group,
                               std::uint64_t now);
void end_task(Tables& t, Handle task, std::uint64_t now);

[[nodiscard]] void* start_channel(Tables& t, Handle task, std::uint32_t channel,
                                  std::uint64_t timer_ns, std::uint64_t now);
void set_channel_stop(Tables& t, Handle channel, std::uint64_t timer_ns);
void end_channel(Tables& t, Handle channel, std::uint64_t now);

// Phases of a kernel with barriers, as NCCL numbers them; a third is the barrier at the end. NCCL
// reports them once a channel of the kernel has ended, just before the channel's stop. Times are of
// the GPU's clock.
inline constexpr std::uint32_t kInitialSync = 0;
inline constexpr std::uint32_t kCompute = 1;
[[nodiscard]] void* start_phase(Tables& t, Handle channel, std::uint32_t phase,
                                std::uint64_t timer_ns);
void set_phase_stop(Tables& t, Handle phase, std::uint64_t timer_ns);

// For flows. add_flow() opens a flow of the operation and returns the operation's generation (0: it
// is not in flight), remove_flow() closes one, and touch_operation() notes progress.
[[nodiscard]] std::uint64_t add_flow(Tables& t, Handle task);
void remove_flow(Tables& t, std::uint16_t slot, std::uint64_t generation, std::uint64_t now);
void touch_operation(Tables& t, std::uint16_t slot, std::uint64_t generation, std::uint64_t now);
[[nodiscard]] bool is_in_flight(Tables& t, std::uint16_t slot, std::uint64_t generation);

// Frees the slots of a closed communicator.
void forget_operations(Tables& t, std::uint16_t comm);

}  // namespace robustrun::tracer::nccl
