#pragma once
// The layout of the collectives' part of a progress record, from minor version 1 on; rates and tags
// from minor version 4 on.
//
// Fixed tables at fixed offsets after the first page: communicators, operations and flows in
// flight, and history (signatures, histograms, timings, edges, rates, tags). The counters lie in
// the first page. docs/formats/collectives-record.md has the same tables. NCCL's plugin
// (tracer/nccl) and python/robustrun write in place, each word by one aligned store; slots never
// move. A reader sees each word either old or new, but the words of a slot may be of different
// moments, so the reader must drop rows that contradict themselves.

#include <array>
#include <cstddef>
#include <cstdint>

#include "tracer/progress_record.h"

namespace robustrun::tracer {

inline constexpr std::size_t kCommunicatorSlots = 128;
inline constexpr std::size_t kOperationSlots = 1024;
inline constexpr std::size_t kFlowSlots = 2048;
inline constexpr std::size_t kSignatureSlots = 1024;
inline constexpr std::size_t kHistogramSlots = 64;
inline constexpr std::size_t kTimingSlots = 1024;
inline constexpr std::size_t kEdgeSlots = 1024;
inline constexpr std::size_t kRateSlots = 256;

enum class RecordSource : std::uint32_t {
  kNone = 0,
  kTorchGroup = 1,  // the membership only: progress comes from the Flight Recorder
  kNccl = 2,  // NCCL's plugin
  kInterposer = 3,  // c10d's dispatcher (opt-in, torch 2.2 to 2.7)
};

inline constexpr std::size_t kCommunicatorNameBytes = 64;  // NUL-padded UTF-8, cut to fit

// Two writers share this table without a lock: Python takes free slots from the last one downwards,
// the plugin from the first one upwards, but never the slot directly below Python's slots, which
// Python may be taking. Times are CLOCK_MONOTONIC in ns; 0: never, or not now. Ordinals count from
// 1.
struct RecordCommunicator {
  std::uint64_t in_use;  //   0  0: free; 1: in use, completely written; other: being written
  std::uint64_t comm;  //   8  its key, the same on all members; 0: unknown
  std::uint32_t size;  //  16  0: unknown
  std::uint32_t rank;  //  20
  std::uint32_t source;  //  24  RecordSource
  std::uint32_t nodes;  //  28  0: unknown
  std::array<char, kCommunicatorNameBytes> name;  //  32
  std::array<char, kCommunicatorNameBytes> label;  //  96  for people: torch's description
  std::uint64_t entered;  // 160  collectives
  std::uint64_t started;  // 168
  std::uint64_t done;  // 176
  std::uint64_t entered_at_ns;  // 184  when `entered` rose last
  std::uint64_t done_at_ns;  // 192
  std::uint64_t in_call_at_ns;  // 200  since when inside the library's call
  std::uint64_t in_launch_at_ns;  // 208  since when blocked in a launch
  std::uint64_t p2p_entered;  // 216
  std::uint64_t p2p_done;  // 224
  // Operations that are called in one group form a batch. The batches of a communicator run one
  // after the other: if an operation of a later batch is done, all earlier batches are.
  std::uint32_t batch;  // 232  the newest batch called
  std::uint32_t done_batch;  // 236  the newest batch with an operation known to be done
  std::uint64_t unreported;  // 240  operations that NCCL reported as called and never again
  std::uint64_t reserved;  // 248
};
static_assert(offsetof(RecordCommunicator, name) == 32);
static_assert(offsetof(RecordCommunicator, label) == 96);
static_assert(offsetof(RecordCommunicator, entered) == 160);
static_assert(offsetof(RecordCommunicator, p2p_done) == 224);
static_assert(offsetof(RecordCommunicator, unreported) == 240);
static_assert(sizeof(RecordCommunicator) == 256);

// Whether `batch` precedes `other`. Batch numbers wrap around.
[[nodiscard]] constexpr bool is_before(std::uint32_t batch, std::uint32_t other) {
  return static_cast<std::int32_t>(batch - other) < 0;
}

// Operations and flows in flight.
//
// A writer claims a slot by raising the generation in its `state`, and then writes `generation`
// before all other words. So a reader that reads `generation` last knows whether the words belong
// together. The slot of an unfinished operation is never reused: new operations are dropped
// instead, and counted in RecordCounters.

// The low byte of a slot's `state`; the generation is above it.
enum class RecordPhase : std::uint8_t {
  kFree = 0,
  kWriting = 1,  // claimed, not yet completely written
  kCalled = 2,  // the library was called
  kStarted = 3,  // handed to the device; for a flow: open
  kParked = 4,  // counted as done; the slot may be taken, but a late flow may revive the operation
};

[[nodiscard]] constexpr std::uint64_t record_state(std::uint64_t generation, RecordPhase phase) {
  return generation << 8U | static_cast<std::uint64_t>(phase);
}
[[nodiscard]] constexpr std::uint64_t generation_of(std::uint64_t state) { return state >> 8U; }
[[nodiscard]] constexpr std::uint8_t phase_of(std::uint64_t state) { return state & 0xffU; }

// Parts of RecordOperation::counts. They share one word, so that exactly one thread's update
// completes the operation, and this thread knows it.
inline constexpr unsigned kOpenFlowsShift = 0;  // 16 bits
inline constexpr unsigned kChannelStopsShift = 16;  // 8 bits
inline constexpr unsigned kChannelStartsShift = 24;  // 8 bits
inline constexpr unsigned kQueuedShift = 32;  // 1: handed to the device completely
inline constexpr unsigned kBegunShift = 33;  // 1: the operation has had a flow
inline constexpr unsigned kTagShift = 48;  // 16 bits of the generation

struct RecordOperation {
  std::uint64_t state;  //   0  RecordPhase, generation
  std::uint64_t ordinal;  //   8  in its communicator; of send and recv: with the peer; 0: unknown
  std::uint64_t comm;  //  16  key of its communicator
  std::uint32_t comm_slot;  //  24
  std::uint32_t batch;  //  28
  std::uint64_t count;  //  32  as Signature::count
  std::int32_t root;  //  40  as Signature::root
  std::uint8_t kind;  //  44  OpKind
  std::uint8_t type;  //  45  DataType
  std::uint8_t channels;  //  46  of its kernel; 0: unknown
  std::uint8_t blind;  //  47  1: NCCL may not have reported all of its flows
  std::uint64_t entered_at_ns;  //  48
  std::uint64_t started_at_ns;  //  56
  std::uint64_t kernel_at_ns;  //  64  when its kernel was first seen running
  std::uint64_t changed_at_ns;  //  72  when it last made progress
  std::uint64_t channels_started;  //  80  bit mask
  std::uint64_t channels_stopped;  //  88
  std::uint64_t counts;  //  96
  std::uint64_t gpu_start_ns;  // 104  by the GPU's own clock: only differences are meaningful
  std::uint64_t gpu_stop_ns;  // 112
  std::uint64_t generation;  // 120
};
static_assert(offsetof(RecordOperation, count) == 32);
static_assert(offsetof(RecordOperation, entered_at_ns) == 48);
static_assert(offsetof(RecordOperation, counts) == 96);
static_assert(offsetof(RecordOperation, generation) == 120);
static_assert(sizeof(RecordOperation) == 128);

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
static_assert(sizeof(RecordFlow) == 128);

// History: two rings (signatures, timings) and three tables (edges, histograms, rates).
//
// Entry n (from 0) of a ring is in slot n modulo the ring's size. Its `stamp` is n + 1 once the
// other words are complete, and 0 while they are being written. Rows of a table are found by `key`,
// whose upper half is the communicator's slot + 1; key 0 is a free row. A row whose `comm` differs
// from that communicator's key belongs to an earlier communicator in the same slot.

// A collective that was entered. Members must have equal signatures at equal ordinals. The user's
// tag of the collective, from version 7 of NCCL's interface on (0: none), is in the slot with the
// same number in the table of tags.
struct RecordSignature {
  std::uint64_t stamp;  //  0
  std::uint64_t what;  //  8  ordinal << 24 | DataType << 16 | OpKind << 8 | comm_slot
  std::uint64_t count;  // 16
  std::int32_t root;  // 24
  std::uint32_t comm_part;  // 28  low half of the communicator's key
};
static_assert(offsetof(RecordSignature, comm_part) == 28);
static_assert(sizeof(RecordSignature) == 32);

// A collective that is finished.
struct RecordTiming {
  std::uint64_t stamp;  //  0
  std::uint64_t comm;  //  8
  std::uint64_t ordinal;  // 16
  std::uint64_t kernel_ns;  // 24  on the GPU; 0: unknown
  std::uint64_t queued_ns;  // 32  from the launch to the kernel's start
  std::uint64_t gap_ns;  // 40  from the end of the previous collective to entering this one
  std::uint64_t ended_at_ns;  // 48
  // This GPU's own work, between the barriers at the kernel's start and end; 0: unknown. Reported
  // only for symmetric kernels, from version 7 of NCCL's interface on.
  std::uint64_t own_ns;  // 56
};
static_assert(offsetof(RecordTiming, own_ns) == 56);
static_assert(sizeof(RecordTiming) == 64);

// Totals between this rank and one peer since the communicator was created.
struct RecordEdge {
  std::uint64_t key;  //  0  (comm_slot + 1) << 32 | peer
  std::uint64_t comm;  //  8
  std::uint64_t sends_entered;  // 16  operations
  std::uint64_t sends_done;  // 24
  std::uint64_t recvs_entered;  // 32
  std::uint64_t recvs_done;  // 40
  std::uint64_t bytes;  // 48  sent over the network, in all operations
  std::uint64_t net_wait_ns;  // 56  time that these bytes were in transit, summed over steps
};
static_assert(offsetof(RecordEdge, net_wait_ns) == 56);
static_assert(sizeof(RecordEdge) == 64);

inline constexpr std::size_t kHistogramBuckets = 36;
inline constexpr unsigned kHistogramFirstBit = 10;

// Durations, from entry to completion, of the collectives of one kind and size. Bucket i counts
// durations from 2^(10+i) up to 2^(11+i) ns; the first bucket also counts shorter ones, the last
// bucket longer ones.
struct RecordHistogram {
  std::uint64_t key;  //  0  (comm_slot + 1) << 32 | OpKind << 8 | bits of its size in bytes
  std::uint64_t comm;  //  8
  std::uint64_t count;  // 16
  std::uint64_t sum_ns;  // 24
  std::uint64_t max_ns;  // 32
  std::array<std::uint32_t, kHistogramBuckets> buckets;  // 40
  std::uint64_t reserved;  // 184
};
static_assert(offsetof(RecordHistogram, buckets) == 40);
static_assert(sizeof(RecordHistogram) == 192);

// What the finished collectives of one kind and size moved, and how long their kernels took:
// bandwidth is bytes / busy_ns. Bytes are counted as nccl-tests counts them (measured_bytes() in
// tracer/analysis/operation.h). `busy_ns` includes the wait for ranks that come later, unless NCCL
// reports this wait (RecordTiming::own_ns).
struct RecordRate {
  std::uint64_t key;  //  0  (comm_slot + 1) << 32 | OpKind << 8 | bits of measured_bytes()
  std::uint64_t comm;  //  8
  std::uint64_t count;  // 16  collectives
  std::uint64_t bytes;  // 24
  std::uint64_t busy_ns;  // 32
  std::uint64_t reserved[3];  // 40
};
static_assert(offsetof(RecordRate, busy_ns) == 32);
static_assert(sizeof(RecordRate) == 64);

// Offsets of the tables in the file, in bytes.

inline constexpr std::size_t kCommunicatorsAt = 4096;
inline constexpr std::size_t kOperationsAt =
    kCommunicatorsAt + kCommunicatorSlots * sizeof(RecordCommunicator);
inline constexpr std::size_t kFlowsAt = kOperationsAt + kOperationSlots * sizeof(RecordOperation);
inline constexpr std::size_t kSignaturesAt = kFlowsAt + kFlowSlots * sizeof(RecordFlow);
inline constexpr std::size_t kHistogramsAt =
    kSignaturesAt + kSignatureSlots * sizeof(RecordSignature);
inline constexpr std::size_t kTimingsAt = kHistogramsAt + kHistogramSlots * sizeof(RecordHistogram);
inline constexpr std::size_t kEdgesAt = kTimingsAt + kTimingSlots * sizeof(RecordTiming);
inline constexpr std::size_t kRatesAt = kEdgesAt + kEdgeSlots * sizeof(RecordEdge);
inline constexpr std::size_t kTagsAt = kRatesAt + kRateSlots * sizeof(RecordRate);
inline constexpr std::size_t kCollectivesEnd = kTagsAt + kSignatureSlots * sizeof(std::uint64_t);
static_assert(kOperationsAt == 36'864 && kFlowsAt == 167'936 && kSignaturesAt == 430'080);
static_assert(kHistogramsAt == 462'848 && kTimingsAt == 475'136 && kEdgesAt == 540'672);
static_assert(kRatesAt == 606'208 && kTagsAt == 622'592 && kCollectivesEnd == 630'784);

// The agent's request, one word in the first page: the events that NCCL shall report, as an
// activation mask; 0: the plugin's default. Only ProxyOp, ProxyStep, ProxyCtrl and KernelLaunch can
// be switched, from the next call on; the other events are needed to see which operations are
// finished. If NCCL does not report kernels (versions 1 and 2), ProxyOp and ProxyStep are needed,
// too.
inline constexpr std::size_t kWantedMaskAt = offsetof(ProgressRecord, reserved_agent);
static_assert(kWantedMaskAt == 40);

// Two requests: the default, and all events but those of data on the network, which are most
// events.
inline constexpr std::uint64_t kAllEvents = 0;
inline constexpr std::uint64_t kEventsWithoutSteps = 0xe46;

inline constexpr std::size_t kCountersAt = 704;

// In the first page. Three cache lines: fields that are rarely written, fields written by threads
// that call NCCL, and fields written by the threads that move its data.
struct RecordCounters {
  std::uint64_t writer_pid;  //   0  the process that fills the tables; 0: none yet
  std::uint64_t abi_version;  //   8  of NCCL's profiler interface, 1 to 7
  std::uint64_t event_mask;  //  16  in force
  std::uint64_t operations_dropped;  //  24  for lack of a free slot
  std::uint64_t flows_dropped;  //  32
  std::uint64_t communicators_dropped;  //  40
  std::uint64_t history_dropped;  //  48  edges, histograms and rates
  std::uint64_t ignored;  //  56  events that refer to an unknown handle
  std::uint64_t calls_at_ns;  //  64  last activity of a thread that calls NCCL
  std::uint64_t signatures;  //  72  written so far
  std::array<std::uint64_t, 6> reserved_calls;  //  80
  std::uint64_t proxy_at_ns;  // 128  last activity of a thread that moves data
  std::uint64_t timings;  // 136  written so far
  std::array<std::uint64_t, 6> reserved_proxy;  // 144
};
static_assert(offsetof(RecordCounters, calls_at_ns) == 64);
static_assert(offsetof(RecordCounters, proxy_at_ns) == 128);
static_assert(sizeof(RecordCounters) == 192);
static_assert(kCountersAt % 64 == 0 && kCountersAt >= sizeof(ProgressRecord));
static_assert(kCountersAt + sizeof(RecordCounters) <= kRecordBytes);

}  // namespace robustrun::tracer
