#pragma once
// Operations in flight: called, handed to the device, finished.
//
// NCCL's "stop" event of an operation means only that the operation is queued. The operation is
// finished when all channels of its kernel have stopped and none of its flows is open. If NCCL does
// not report kernels (versions 1 and 2), it is finished when it has had flows and none is open. An
// operation with neither kernel events nor flows is parked: it counts as done and its slot may be
// taken, but a late flow revives it. The threads that call NCCL and the threads that move data
// synchronise through one word, RecordOperation::counts.

#include <cstdint>

#include "tracer/nccl/attach.h"
#include "tracer/nccl/handle.h"
#include "tracer/nccl/history.h"

namespace robustrun::tracer::nccl {

// The user calls an operation in `group` (0: none). The returned handle is never null, because the
// task that is later started with this parent must not count as a second operation.
[[nodiscard]] void* call_operation(Tables& t, const Task& task, std::uint64_t group,
                                   std::uint64_t now);
void end_call(Tables& t, Handle call);
// An operation is handed to the device. `parent`: its call, if NCCL passes the call. A task with
// another parent, for example of a replayed CUDA graph, is a new operation in `group`. Null: no
// slot is free.
[[nodiscard]] void* start_task(Tables& t, const Task& task, Handle parent, std::uint64_t group,
                               std::uint64_t now);
void end_task(Tables& t, Handle task, std::uint64_t now);

[[nodiscard]] void* start_channel(Tables& t, Handle task, std::uint32_t channel,
                                  std::uint64_t timer_ns, std::uint64_t now);
void set_channel_stop(Tables& t, Handle channel, std::uint64_t timer_ns);
void end_channel(Tables& t, Handle channel, std::uint64_t now);

// Phases of a kernel with barriers, as NCCL numbers them; the third, the barrier at the end, is not
// used. When a channel of the kernel has ended, NCCL reports the channel's phases, and then its
// stop. The phases' times are of the GPU's clock.
inline constexpr std::uint32_t kInitialSync = 0;
inline constexpr std::uint32_t kCompute = 1;
[[nodiscard]] void* start_phase(Tables& t, Handle channel, std::uint32_t phase,
                                std::uint64_t timer_ns);
void set_phase_stop(Tables& t, Handle phase, std::uint64_t timer_ns);

// For flows. add_flow() opens a flow of the operation and returns the operation's generation (0:
// the operation is not in flight). remove_flow() closes a flow. touch_operation() notes progress.
[[nodiscard]] std::uint64_t add_flow(Tables& t, Handle task);
void remove_flow(Tables& t, std::uint16_t slot, std::uint64_t generation, std::uint64_t now);
void touch_operation(Tables& t, std::uint16_t slot, std::uint64_t generation, std::uint64_t now);
[[nodiscard]] bool is_in_flight(Tables& t, std::uint16_t slot, std::uint64_t generation);

// Frees the slots of a closed communicator.
void forget_operations(Tables& t, std::uint16_t comm);

}  // namespace robustrun::tracer::nccl
