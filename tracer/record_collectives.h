#pragma once
// The collectives' part of a progress record: behind the first page, from minor version 1 on.
//
// Fixed tables at fixed offsets (docs/formats/collectives-record.md has them, too): communicators
// (here), operations and flows in flight (record_operations.h), signatures, histograms, timings and
// edges (record_history.h); its counters lie in the first page (record_counters.h). Written in
// place by NCCL's plugin (tracer/nccl) and by python/robustrun, each word by one aligned store;
// slots are never moved. Whoever reads sees every word old or new, but not all words of a slot of
// one moment: what contradicts itself is to be dropped, never believed.

#include <array>
#include <cstddef>
#include <cstdint>

namespace robustrun::tracer {

inline constexpr std::size_t kCommunicatorSlots = 128;
inline constexpr std::size_t kOperationSlots = 1024;
inline constexpr std::size_t kFlowSlots = 2048;
inline constexpr std::size_t kSignatureSlots = 1024;
inline constexpr std::size_t kHistogramSlots = 64;
inline constexpr std::size_t kTimingSlots = 1024;
inline constexpr std::size_t kEdgeSlots = 1024;

enum class RecordSource : std::uint32_t {
  kNone = 0,
  kTorchGroup = 1,  // membership alone: progress comes from the Flight Recorder
  kNccl = 2,  // the plugin
  kInterposer = 3,  // c10d's dispatcher (opt-in, torch 2.1 to 2.7)
};

inline constexpr std::size_t kCommunicatorNameBytes = 64;  // NUL-padded UTF-8, cut to fit

// Two writers share the table without a lock: Python takes free slots from the last one downwards,
// the plugin from the first one upwards, and never the last free one below Python's.
// Times are CLOCK_MONOTONIC in ns, 0: never, or not now. Ordinals count from 1.
struct RecordCommunicator {
  std::uint64_t in_use;  //   0  1: the rest is written; 0: free; else busy
  std::uint64_t comm;  //   8  key, the same on all members; 0: unknown
  std::uint32_t size;  //  16  0: not known
  std::uint32_t rank;  //  20
  std::uint32_t source;  //  24  RecordSource
  std::uint32_t nodes;  //  28  0: not known
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
  // What is called together runs together: a batch. Batches of a communicator run one after the
  // other, so when an operation of a later batch is done, all of the earlier ones are.
  std::uint32_t batch;  // 232  newest one called
  std::uint32_t done_batch;  // 236  newest one of which an operation is known to be done
  std::uint64_t unreported;  // 240  operations called so far that NCCL said nothing more about
  std::uint64_t reserved;  // 248
};
static_assert(offsetof(RecordCommunicator, name) == 32);
static_assert(offsetof(RecordCommunicator, label) == 96);
static_assert(offsetof(RecordCommunicator, entered) == 160);
static_assert(offsetof(RecordCommunicator, p2p_done) == 224);
static_assert(offsetof(RecordCommunicator, unreported) == 240);
static_assert(sizeof(RecordCommunicator) == 256);

// Numbers of batches wrap.
[[nodiscard]] constexpr bool is_before(std::uint32_t batch, std::uint32_t other) {
  return static_cast<std::int32_t>(batch - other) < 0;
}

inline constexpr std::size_t kOperationBytes = 128;
inline constexpr std::size_t kFlowBytes = 128;
inline constexpr std::size_t kSignatureBytes = 32;
inline constexpr std::size_t kHistogramBytes = 192;
inline constexpr std::size_t kTimingBytes = 64;
inline constexpr std::size_t kEdgeBytes = 64;

inline constexpr std::size_t kCommunicatorsAt = 4096;
inline constexpr std::size_t kOperationsAt =
    kCommunicatorsAt + kCommunicatorSlots * sizeof(RecordCommunicator);
inline constexpr std::size_t kFlowsAt = kOperationsAt + kOperationSlots * kOperationBytes;
inline constexpr std::size_t kSignaturesAt = kFlowsAt + kFlowSlots * kFlowBytes;
inline constexpr std::size_t kHistogramsAt = kSignaturesAt + kSignatureSlots * kSignatureBytes;
inline constexpr std::size_t kTimingsAt = kHistogramsAt + kHistogramSlots * kHistogramBytes;
inline constexpr std::size_t kEdgesAt = kTimingsAt + kTimingSlots * kTimingBytes;
inline constexpr std::size_t kCollectivesEnd = kEdgesAt + kEdgeSlots * kEdgeBytes;
static_assert(kOperationsAt == 36'864 && kFlowsAt == 167'936 && kSignaturesAt == 430'080);
static_assert(kHistogramsAt == 462'848 && kTimingsAt == 475'136 && kEdgesAt == 540'672);
static_assert(kCollectivesEnd == 606'208);

}  // namespace robustrun::tracer
