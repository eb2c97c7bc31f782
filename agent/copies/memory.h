#pragma once
// Memory in which workers keep copies of their states: memfds with the layout of
// checkpoint/memory/memory_area.h, some with a board (checkpoint/memory/hold_board.h). The agent
// does not trust the content.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"
#include "checkpoint/memory/memory_area.h"
#include "checkpoint/memory/memory_slot.h"

namespace robustrun::agent {

// Such a memfd.
struct GivenMemory {
  base::Fd memory;  // invalid: no memory
  std::uint64_t bytes = 0;  // size of `memory`
};

// A second descriptor of the same memory.
base::Result<GivenMemory> same_memory(const GivenMemory& given);
// New memory, sealed and fully allocated. kLimit: the node has too little memory for `bytes`.
// Blocks, up to a second per GiB.
base::Result<GivenMemory> reserve_copy_memory(std::uint64_t bytes);
// New memory for slots of at least `slot_bytes`, with a board if `with_board` is set and there is
// room for one. Errors and blocking: as for reserve_copy_memory().
base::Result<GivenMemory> reserve_area(std::uint64_t slot_bytes, bool with_board);
// Copies `given`, which has no board, to new memory with a board; returns `given` itself if that
// fails. Blocks like reserve_copy_memory().
GivenMemory widened(GivenMemory given);
[[nodiscard]] bool has_board(const GivenMemory& given);
[[nodiscard]] std::uint64_t slot_bytes_of(const GivenMemory& given);  // 0: `given` has no slots

// The header of a copy, read cheaply: nothing is checked.
struct SlotHint {
  bool complete = false;
  std::uint64_t sequence = 0;
};
// The newest of the copies that claim to be complete. SlotHint::complete is false if no copy does.
[[nodiscard]] SlotHint newest_hint(const GivenMemory& given);

// Maps memory for reading and finds the copies in it. Pages are mapped when they are read.
class CopyView {
 public:
  static base::Result<CopyView> of(const base::Fd& memory, std::uint64_t bytes);
  CopyView(CopyView&& other) noexcept;
  CopyView& operator=(CopyView&&) = delete;
  CopyView(const CopyView&) = delete;
  CopyView& operator=(const CopyView&) = delete;
  ~CopyView();

  struct Found {
    std::span<const char> slot;
    checkpoint::MemoryCopy copy;
    std::uint64_t bytes = 0;  // used bytes of the slot
  };
  // nullopt: the slot has no complete copy with a valid header and description.
  [[nodiscard]] std::optional<Found> copy_in(std::size_t slot) const;
  // The copies of all slots, as copy_in() finds them, newest first.
  [[nodiscard]] std::vector<Found> complete_copies() const;
  [[nodiscard]] std::uint64_t slot_bytes() const { return shape_.slot_bytes; }
  // Returns false once the worker has begun to overwrite the slot of `found`.
  [[nodiscard]] static bool is_unchanged(const Found& found);

 private:
  CopyView(const char* start, std::uint64_t bytes, checkpoint::AreaShape shape)
      : start_(start), bytes_(bytes), shape_(shape) {}
  const char* start_;
  std::uint64_t bytes_;
  checkpoint::AreaShape shape_;
};

}  // namespace robustrun::agent
