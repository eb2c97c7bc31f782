#pragma once
// The history in the record, which outlasts the operations: signatures, timings, durations, rates,
// and totals per peer.

#include <cstdint>

#include "tracer/analysis/operation.h"
#include "tracer/nccl/attach.h"

namespace robustrun::tracer::nccl {

// An operation as NCCL passes it.
struct Task {
  std::uint16_t comm = 0;  // its communicator's slot
  OpKind kind = OpKind::kUnknown;
  DataType type = DataType::kUnknown;
  std::uint64_t count = 0;
  std::int32_t root = -1;  // of send and recv: the peer; -1: none
  std::uint8_t channels = 0;
  std::uint64_t tag = 0;  // given by the user; 0: none
};
[[nodiscard]] inline bool is_with_peer(OpKind kind) {
  return kind == OpKind::kSend || kind == OpKind::kRecv;
}

// Removes the rows of the slot's previous communicator.
void forget_history(Tables& t, std::uint16_t comm);
// Records the signature of a collective that was entered.
void sign(Tables& t, const Task& task, std::uint64_t ordinal);

// A collective that has finished.
struct Finished {
  std::uint64_t ordinal = 0;
  std::uint64_t bytes = 0;
  std::uint64_t kernel_ns = 0, queued_ns = 0, gap_ns = 0, whole_ns = 0;
  // Parts of kernel_ns: the wait for other ranks at its start, and the GPU's own work; 0: unknown.
  std::uint64_t wait_ns = 0, own_ns = 0;
  std::uint64_t ended_at_ns = 0;
};
// Records the times of a finished collective and how much data it moved.
void keep_time(Tables& t, std::uint16_t comm, OpKind kind, const Finished& finished);

// The row of the totals with `peer`; null: the table is full (RecordCounters::history_dropped).
[[nodiscard]] RecordEdge* edge_to(Tables& t, std::uint16_t comm, std::int32_t peer);

}  // namespace robustrun::tracer::nccl
