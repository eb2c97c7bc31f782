#pragma once
// What is recorded of operations beyond their end: signatures, timings, durations, rates, and
// totals per peer.

#include <cstdint>

#include "tracer/analysis/operation.h"
#include "tracer/nccl/attach.h"

namespace robustrun::tracer::nccl {

struct Task {
  std::uint16_t comm = 0;  // its slot
  OpKind kind = OpKind::kUnknown;
  DataType type = DataType::kUnknown;
  std::uint64_t count = 0;
  std::int32_t root = -1;  // or peer
  std::uint8_t channels = 0;
  std::uint64_t tag = 0;  // the user's
};
[[nodiscard]] inline bool is_with_peer(OpKind kind) {
  return kind == OpKind::kSend || kind == OpKind::kRecv;
}

// Removes the rows of the slot's previous communicator.
void forget_history(Tables& t, std::uint16_t comm);
// Records the signature of a collective that was entered.
void sign(Tables& t, const Task& task, std::uint64_t ordinal);

struct Finished {
  std::uint64_t ordinal = 0;
  std::uint64_t bytes = 0;
  std::uint64_t kernel_ns = 0, queued_ns = 0, gap_ns = 0, whole_ns = 0;
  // Parts of kernel_ns: waiting for others at its begin, and the GPU's own work; 0: unknown.
  std::uint64_t wait_ns = 0, own_ns = 0;
  std::uint64_t ended_at_ns = 0;
};
// Records what a collective that has finished moved, and its times.
void keep_time(Tables& t, std::uint16_t comm, OpKind kind, const Finished& finished);

// The row of the totals with `peer`; null if the table is full, which is counted.
[[nodiscard]] RecordEdge* edge_to(Tables& t, std::uint16_t comm, std::int32_t peer);

}  // namespace robustrun::tracer::nccl
