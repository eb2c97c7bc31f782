#pragma once
// Communicators: their slots in the record, batches of calls, and how many collectives are done.
//
// A context that NCCL keeps names a slot and its generation. After finalize() the slot is free for
// the next one at once; late events of the old one are recognised by their generation.

#include <cstdint>

#include "tracer/nccl/attach.h"
#include "tracer/nccl/handle.h"

namespace robustrun::tracer::nccl {

struct Identity {
  const char* name = nullptr;
  std::uint64_t comm = 0;  // 0: not known yet (versions 1 to 3)
  int nodes = 0, size = 0, rank = 0;
};

inline constexpr std::uint16_t kNoSlot = 0xffff;

// The context of a new one; of slot kNoSlot when the table is full. `counts_kernels`: NCCL will
// tell when its kernels end.
[[nodiscard]] void* open_communicator(Tables& t, const Identity& identity, bool counts_kernels);
// Forgets it and all of its operations.
void close_communicator(Tables& t, const void* context);
// Its slot, or kNoSlot for a context that is none of ours any more. Counts those.
[[nodiscard]] std::uint16_t communicator_of(Tables& t, const void* context);
[[nodiscard]] bool is_current(std::uint16_t comm, std::uint64_t generation);
[[nodiscard]] std::uint64_t generation_of_communicator(std::uint16_t comm);
[[nodiscard]] bool counts_kernels(std::uint16_t comm);
// Versions 1 to 3 say who a communicator is with each of its operations.
void learn(Tables& t, std::uint16_t comm, const Identity& identity);

struct Batch {
  std::uint32_t number = 0;
  std::uint64_t before = 0;  // collectives entered before it began
};
// The batch of an operation that is called within `group`: a new one unless the operation before it
// was of the same group (0: of none). Called by the communicator's own thread.
[[nodiscard]] Batch batch_of(Tables& t, std::uint16_t comm, std::uint64_t group);
[[nodiscard]] Batch newest_batch(Tables& t, std::uint16_t comm);
// An operation was called, of which NCCL will say more; and it did. What was never reported by the
// time that the next batch begins never will be, and counts as done.
void await_report(std::uint16_t comm);
// False: it was given up already, and is counted.
[[nodiscard]] bool take_report(Tables& t, std::uint16_t comm, std::uint32_t batch);

// `count` collectives of the batch before which `before` were entered are done. Confirmed: it is
// known, so all of the earlier batches are done, too; they are not counted again.
void count_done(Tables& t, std::uint16_t comm, std::uint64_t before, std::uint64_t count,
                bool confirmed);
// Something of this batch is known to be done.
void confirm_batch(Tables& t, std::uint16_t comm, std::uint32_t batch);

}  // namespace robustrun::tracer::nccl
