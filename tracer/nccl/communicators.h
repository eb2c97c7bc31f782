#pragma once
// Communicators: their slots in the record, their batches of calls, and how many of their
// collectives are done.
//
// The context that NCCL keeps is a handle (handle.h) of a slot and its generation. After
// close_communicator() the slot can be reused at once; late events of the old communicator are
// recognised by their generation.

#include <cstdint>

#include "tracer/nccl/attach.h"
#include "tracer/nccl/handle.h"

namespace robustrun::tracer::nccl {

// A communicator as NCCL describes it.
struct Identity {
  const char* name = nullptr;
  std::uint64_t comm = 0;  // key; 0: not known yet (versions 1 to 3)
  int nodes = 0, size = 0, rank = 0;
};

inline constexpr std::uint16_t kNoSlot = 0xffff;

// Opens a communicator and returns its context, whose slot is kNoSlot if the table is full.
// `counts_kernels`: NCCL will report the end of the communicator's kernels.
[[nodiscard]] void* open_communicator(Tables& t, const Identity& identity, bool counts_kernels);
// Frees the communicator's slot and those of all its operations.
void close_communicator(Tables& t, const void* context);
// The slot of `context`. kNoSlot: the communicator is closed or unknown; RecordCounters::ignored
// counts such calls.
[[nodiscard]] std::uint16_t communicator_of(Tables& t, const void* context);
[[nodiscard]] bool is_current(std::uint16_t comm, std::uint64_t generation);
[[nodiscard]] std::uint64_t generation_of_communicator(std::uint16_t comm);
[[nodiscard]] bool counts_kernels(std::uint16_t comm);
// Sets the communicator's identity, which interface versions 1 to 3 pass only with operations.
void learn(Tables& t, std::uint16_t comm, const Identity& identity);

struct Batch {
  std::uint32_t number = 0;
  std::uint64_t before = 0;  // number of collectives entered before the batch began
};
// The batch of an operation that is called in `group` (0: no group): a new batch, unless the
// previous operation was called in the same group. Only for the thread that calls the communicator.
[[nodiscard]] Batch batch_of(Tables& t, std::uint16_t comm, std::uint64_t group);
[[nodiscard]] Batch newest_batch(Tables& t, std::uint16_t comm);
// Notes that an operation was called, and that NCCL is to report its hand-over to the device. An
// operation without this report when the next batch begins is given up: it counts as done. Once
// such a report came late, operations of this communicator are no longer given up.
void await_report(std::uint16_t comm);
// Notes the report. False: the operation was already given up and counted.
[[nodiscard]] bool take_report(Tables& t, std::uint16_t comm, std::uint32_t batch);

// Counts `count` collectives of a batch as done. `before`: Batch::before of the batch. `confirmed`:
// the collectives are known to be done, so all earlier batches are done, too. No collective is
// counted twice.
void count_done(Tables& t, std::uint16_t comm, std::uint64_t before, std::uint64_t count,
                bool confirmed);
// Notes that an operation of `batch` is known to be done.
void confirm_batch(Tables& t, std::uint16_t comm, std::uint32_t batch);

}  // namespace robustrun::tracer::nccl
