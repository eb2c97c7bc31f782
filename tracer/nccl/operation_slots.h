#pragma once
// Slots of operations: claiming them, changing their counts, and what happens when one is finished.
// For operations.cpp alone.

#include <cstdint>

#include "tracer/nccl/attach.h"
#include "tracer/nccl/communicators.h"
#include "tracer/nccl/handle.h"
#include "tracer/nccl/history.h"

namespace robustrun::tracer::nccl {

// What only we need to know of an operation.
struct OperationState {
  std::uint64_t before = 0;  // its batch's
  bool is_counted = false;  // as done
  bool awaits_kernel = false;
};

[[nodiscard]] OperationState& state_of(std::uint16_t index);

struct OperationSlot {
  std::uint16_t index = kNoSlot;
  std::uint64_t generation = 0;
};

[[nodiscard]] inline RecordPhase phase_in(std::uint64_t state) {
  return static_cast<RecordPhase>(phase_of(state));
}
// From one phase to another; false when it is in neither that phase nor that generation.
[[nodiscard]] bool move(RecordOperation& row, std::uint64_t generation, RecordPhase from,
                        RecordPhase to);

// A free slot, its generation raised and its words being written; kNoSlot: all are in use. Counts
// that.
[[nodiscard]] OperationSlot claim_operation(Tables& t);
void fill(Tables& t, OperationSlot slot, const Task& task, std::uint64_t ordinal, Batch batch,
          std::uint64_t now);
// Of a handle, if it is in flight: its full generation, else 0. Brings back what is parked.
[[nodiscard]] std::uint64_t in_flight(Tables& t, Handle task);

// Parts of the counts.
[[nodiscard]] inline std::uint64_t part_of(std::uint64_t counts, unsigned shift,
                                           std::uint64_t mask) {
  return counts >> shift & mask;
}
// Sets bits, then adds. False: the slot is another's by now; else `after` is what they are.
[[nodiscard]] bool change(RecordOperation& row, std::uint64_t generation, std::uint64_t bits,
                          std::uint64_t summand, std::uint64_t& after);

// Counts it as done, once. Confirmed: it is known to be.
void count_operation(Tables& t, std::uint16_t index, bool confirmed);
void finish_if_done(Tables& t, std::uint16_t index, std::uint64_t generation, std::uint64_t counts,
                    std::uint64_t now);

}  // namespace robustrun::tracer::nccl
