#pragma once
// Operations and flows in flight, in the collectives' part of a progress record.
//
// A slot is claimed by raising the generation in its `state`; `generation` is written next, before
// any other word, so that who reads it last knows whether all belong together. Slots of operations
// that are not finished are never taken for others: new ones are dropped instead, and counted
// (record_counters.h).

#include <cstddef>
#include <cstdint>

#include "tracer/record_collectives.h"

namespace robustrun::tracer {

// The low byte of a slot's `state`; the generation is above it.
enum class RecordPhase : std::uint8_t {
  kFree = 0,
  kWriting = 1,  // claimed, its words are not complete
  kCalled = 2,  // the library was called
  kStarted = 3,  // handed to the device; a flow: open
  kParked = 4,  // nothing more is expected of it; may come back, or be taken as if it were free
};

[[nodiscard]] constexpr std::uint64_t record_state(std::uint64_t generation, RecordPhase phase) {
  return generation << 8U | static_cast<std::uint64_t>(phase);
}
[[nodiscard]] constexpr std::uint64_t generation_of(std::uint64_t state) { return state >> 8U; }
[[nodiscard]] constexpr std::uint8_t phase_of(std::uint64_t state) { return state & 0xffU; }

// Parts of RecordOperation::counts: one word, so that whoever completes it knows that he did.
inline constexpr unsigned kOpenFlowsShift = 0;       // 16 bits
inline constexpr unsigned kChannelStopsShift = 16;   // 8 bits
inline constexpr unsigned kChannelStartsShift = 24;  // 8 bits
inline constexpr unsigned kQueuedShift = 32;         // 1: the device has been given all of it
inline constexpr unsigned kBegunShift = 33;          // 1: there has been a flow
inline constexpr unsigned kTagShift = 48;            // 16 bits of the generation

struct RecordOperation {
  std::uint64_t state;  //   0  RecordPhase, generation
  std::uint64_t ordinal;  //   8  in its communicator; send, recv: with its peer, 0: unknown
  std::uint64_t comm;  //  16  key of its communicator
  std::uint32_t comm_slot;  //  24
  std::uint32_t batch;  //  28
  std::uint64_t count;  //  32  as Signature::count
  std::int32_t root;  //  40  as Signature::root
  std::uint8_t kind;  //  44  OpKind
  std::uint8_t type;  //  45  DataType
  std::uint8_t channels;  //  46  of its kernel; 0: not known
  std::uint8_t blind;  //  47  1: NCCL did not tell of all its flows
  std::uint64_t entered_at_ns;  //  48
  std::uint64_t started_at_ns;  //  56
  std::uint64_t kernel_at_ns;  //  64  its kernel was first seen to run
  std::uint64_t changed_at_ns;  //  72  anything of it moved
  std::uint64_t channels_started;  //  80  bit mask
  std::uint64_t channels_stopped;  //  88
  std::uint64_t counts;  //  96
  std::uint64_t gpu_start_ns;  // 104  by the GPU's own clock: differences alone mean anything
  std::uint64_t gpu_stop_ns;  // 112
  std::uint64_t generation;  // 120
};
static_assert(offsetof(RecordOperation, count) == 32);
static_assert(offsetof(RecordOperation, entered_at_ns) == 48);
static_assert(offsetof(RecordOperation, counts) == 96);
static_assert(offsetof(RecordOperation, generation) == 120);
static_assert(sizeof(RecordOperation) == kOperationBytes);

// An operation's data on one channel to or from one peer: tracer/analysis/operation.h, Flow.
struct RecordFlow {
  std::uint64_t state;  //   0
  std::uint64_t operation;  //   8  its slot in the low 16 bits, its generation above
  std::uint32_t channel;  //  16
  std::int32_t peer;  //  20
  std::uint32_t is_send;  //  24
  std::uint32_t steps;  //  28
  std::uint32_t posted;  //  32
  std::uint32_t ready;  //  36
  std::uint32_t transmitted;  //  40
  std::uint32_t done;  //  44
  std::uint32_t refused;  //  48  steps for which the receiver has posted no buffer
  std::uint32_t reserved0;  //  52
  std::uint64_t bytes;  //  56
  std::uint64_t net_wait_ns;  //  64
  std::uint64_t began_at_ns;  //  72
  std::uint64_t changed_at_ns;  //  80
  std::uint64_t generation;  //  88
  std::uint64_t reserved[4];  //  96
};
static_assert(offsetof(RecordFlow, posted) == 32);
static_assert(offsetof(RecordFlow, bytes) == 56);
static_assert(offsetof(RecordFlow, generation) == 88);
static_assert(sizeof(RecordFlow) == kFlowBytes);

}  // namespace robustrun::tracer
