#pragma once
// Reading the collectives' part of a progress record. The worker is never trusted: indices, counts
// and times out of range are dropped, whatever else is there stays. Pure.

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "tracer/analysis/snapshot.h"
#include "tracer/flight_recorder.h"

namespace robustrun::tracer {

// What ten looks a second need: a few words per communicator.
struct CommunicatorCount {
  std::uint64_t comm = 0;
  std::uint64_t entered = 0;
  std::uint64_t done = 0;
  bool counts_completion = false;   // false: membership alone (RecordSource::kTorchGroup)
  friend bool operator==(const CommunicatorCount&, const CommunicatorCount&) = default;
};

// `bytes`: from kCommunicatorsAt on, as many whole slots as there are.
[[nodiscard]] std::vector<CommunicatorCount> count_communicators(std::string_view bytes);

// Some communicator is NCCL's, as its plugin has written it down. `bytes` as above.
[[nodiscard]] bool has_nccl(std::string_view bytes);

// Process groups that the boot module has written down (RecordSource::kTorchGroup).
[[nodiscard]] std::vector<KnownGroup> known_groups(std::string_view bytes);

// How long the finished collectives of one kind and size took, from entering to the end.
struct DurationHistogram {
  std::uint64_t comm = 0;
  OpKind kind = OpKind::kUnknown;
  std::uint32_t size_bits = 0;  // 2^(size_bits-1) ≤ bytes < 2^size_bits; 0: no bytes
  std::uint64_t count = 0;
  base::Nanos longest{};
  std::vector<std::uint32_t> buckets;  // kHistogramBuckets of them, see RecordHistogram
};

struct RecordedCollectives {
  std::vector<Membership> comms;          // of plugin and interposer
  std::vector<DurationHistogram> durations;
  std::optional<base::Nanos> calls_still;
  std::optional<base::Nanos> proxy_still;
  std::uint64_t dropped = 0;              // operations and flows that found no slot
  std::uint64_t event_mask = 0;           // of NCCL's profiler, in force; 0: no plugin
};

// `file`: the whole record, or as much of it as there is (a writer of minor version 0 has none of
// this: an empty answer); `now`: CLOCK_MONOTONIC when it was read. kCorrupt as decode_record().
[[nodiscard]] base::Result<RecordedCollectives> read_collectives(std::string_view file,
                                                                 base::Nanos now);

}  // namespace robustrun::tracer
