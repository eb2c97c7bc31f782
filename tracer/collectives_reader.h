#pragma once
// Decodes the collectives' part of a progress record (record_collectives.h).
//
// The worker is not trusted: rows with indices or counts out of range are dropped, and times out of
// range count as unknown. Pure.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "tracer/analysis/snapshot.h"
#include "tracer/flight_memberships.h"

namespace robustrun::tracer {

// The progress of one communicator: the few words that the agent reads at every look.
struct CommunicatorCount {
  std::uint64_t comm = 0;  // its key
  // Collectives entered, without those whose end NCCL will never report.
  std::uint64_t entered = 0;
  std::uint64_t done = 0;  // collectives
  // False: the slot holds only a membership (RecordSource::kTorchGroup), so `done` means nothing.
  // Unlike Membership::counts_completion, it does not tell whether NCCL reports kernels.
  bool counts_completion = false;
  friend bool operator==(const CommunicatorCount&, const CommunicatorCount&) = default;
};

// `bytes`: the record from kCommunicatorsAt on. Reads only the slots that are complete in it.
[[nodiscard]] std::vector<CommunicatorCount> count_communicators(std::string_view bytes);

// Whether NCCL's plugin has recorded a communicator. `bytes` as above.
[[nodiscard]] bool has_nccl(std::string_view bytes);

// The process groups that the boot module has recorded (RecordSource::kTorchGroup). `bytes` as
// above.
[[nodiscard]] std::vector<KnownGroup> known_groups(std::string_view bytes);

// Durations, from entry to completion, of the finished collectives of one kind and size.
struct DurationHistogram {
  std::uint64_t comm = 0;
  OpKind kind = OpKind::kUnknown;
  std::uint32_t size_bits = 0;  // 2^(size_bits-1) ≤ bytes < 2^size_bits; 0: no bytes
  std::uint64_t count = 0;  // collectives
  base::Nanos longest{};
  std::vector<std::uint32_t> buckets;  // as in RecordHistogram
};

// What the finished collectives of one kind and size moved since the communicator was created
// (RecordRate). Bandwidth is bytes / busy.
struct Moved {
  std::uint64_t comm = 0;
  std::uint32_t size = 0;  // members; 0: unknown
  OpKind kind = OpKind::kUnknown;
  std::uint32_t size_bits = 0;  // of measured_bytes(), as in DurationHistogram
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  base::Nanos busy{};
  friend bool operator==(const Moved&, const Moved&) = default;
};

// What this rank sent to one peer since the communicator was created (RecordEdge).
struct Sent {
  std::uint64_t comm = 0;
  std::int32_t peer = -1;
  std::uint64_t bytes = 0;
  base::Nanos net_wait{};
  friend bool operator==(const Sent&, const Sent&) = default;
};
struct Traffic {
  std::vector<Moved> moved;
  std::vector<Sent> sent;  // only to peers to which data was sent over the network
};

// `communicators`: the record from kCommunicatorsAt on; `tables`: from kEdgesAt on, up to kTagsAt.
// Reads only the rows that are complete in them.
[[nodiscard]] Traffic read_traffic(std::string_view communicators, std::string_view tables);

// The names of the communicators that NCCL's plugin has recorded, by key. `bytes`: the record from
// kCommunicatorsAt on.
[[nodiscard]] std::map<std::uint64_t, std::string> names_of(std::string_view bytes);

struct RecordedCollectives {
  std::vector<Membership> comms;  // of RecordSource::kNccl and kInterposer
  std::vector<DurationHistogram> durations;
  std::optional<base::Nanos> calls_still;  // as in RankSnapshot
  std::optional<base::Nanos> proxy_still;
  std::uint64_t dropped = 0;  // operations and flows for which there was no free slot
  std::uint64_t event_mask = 0;  // NCCL's activation mask in force; 0: no plugin
};

// `file`: the whole record, or as much of it as was read. A record of minor version 0 has no
// collectives' part and gives an empty result. `now`: CLOCK_MONOTONIC at the time of the read.
// Fails with kCorrupt as decode_record() of record_file.h does.
[[nodiscard]] base::Result<RecordedCollectives> read_collectives(std::string_view file,
                                                                 base::Nanos now);

}  // namespace robustrun::tracer
