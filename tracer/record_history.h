#pragma once
// What is over, in the collectives' part of a progress record: two rings and two tables.
//
// Entry n (from 0) of a ring lies in slot n mod its size; `stamp` is n + 1 when the other words are
// those of entry n, and 0 while they are written. Rows of a table are found by `key`, whose upper
// half is the communicator's slot + 1; 0: a free row. A row whose `comm` is not that
// communicator's is left over from another one.

#include <array>
#include <cstddef>
#include <cstdint>

#include "tracer/record_collectives.h"

namespace robustrun::tracer {

// A collective that was entered: what members can compare at equal ordinals.
struct RecordSignature {
  std::uint64_t stamp;  //  0
  std::uint64_t what;  //  8  ordinal << 24 | DataType << 16 | OpKind << 8 | comm_slot
  std::uint64_t count;  // 16
  std::int32_t root;  // 24
  std::uint32_t comm_part;  // 28  low half of the communicator's key
};
static_assert(offsetof(RecordSignature, comm_part) == 28);
static_assert(sizeof(RecordSignature) == kSignatureBytes);

// A collective that is finished.
struct RecordTiming {
  std::uint64_t stamp;  //  0
  std::uint64_t comm;  //  8
  std::uint64_t ordinal;  // 16
  std::uint64_t kernel_ns;  // 24  on the GPU; 0: not known
  std::uint64_t queued_ns;  // 32  from the launch to the kernel's start
  std::uint64_t gap_ns;  // 40  from the end of the one before to entering
  std::uint64_t ended_at_ns;  // 48
  std::uint64_t reserved;  // 56
};
static_assert(offsetof(RecordTiming, ended_at_ns) == 48);
static_assert(sizeof(RecordTiming) == kTimingBytes);

// Everything between this rank and one peer since the communicator began.
struct RecordEdge {
  std::uint64_t key;  //  0  (comm_slot + 1) << 32 | peer
  std::uint64_t comm;  //  8
  std::uint64_t sends_entered;  // 16  operations
  std::uint64_t sends_done;  // 24
  std::uint64_t recvs_entered;  // 32
  std::uint64_t recvs_done;  // 40
  std::uint64_t bytes;  // 48  sent, over the network, in any operation
  std::uint64_t net_wait_ns;  // 56  that the steps of these bytes were on their way
};
static_assert(offsetof(RecordEdge, net_wait_ns) == 56);
static_assert(sizeof(RecordEdge) == kEdgeBytes);

inline constexpr std::size_t kHistogramBuckets = 36;
inline constexpr unsigned kHistogramFirstBit = 10;

// How long collectives of one kind and size took, from entering to the end. Bucket i counts those
// of 2^(10+i) up to 2^(11+i) ns; the first and the last also what lies beyond.
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
static_assert(sizeof(RecordHistogram) == kHistogramBytes);

}  // namespace robustrun::tracer
