#pragma once
// Memory for copies of workers' states (checkpoint/memory/memory_area.h) as descriptors, and a look
// into it that touches nothing that is not read. What lies in it is not trusted.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"
#include "checkpoint/memory/memory_area.h"
#include "checkpoint/memory/memory_slot.h"

namespace robustrun::agent {

struct GivenMemory {
  base::Fd memory;  // invalid: there is none
  std::uint64_t bytes = 0;  // of it
};

// The same memory once more.
base::Result<GivenMemory> same_memory(const GivenMemory& given);
// New memory, sealed, all of it there. kLimit: `bytes` are more than the node may give for copies.
// Blocks, up to a second for each GiB.
base::Result<GivenMemory> reserve_copy_memory(std::uint64_t bytes);
// The same for slots of that length: with a board if that is wanted and there is room, else
// without.
base::Result<GivenMemory> reserve_area(std::uint64_t slot_bytes, bool with_board);
// The copies of an area without a board in a new one with a board; what was given, if there is no
// room. Blocks likewise.
GivenMemory widened(GivenMemory given);
[[nodiscard]] bool has_board(const GivenMemory& given);
[[nodiscard]] std::uint64_t slot_bytes_of(const GivenMemory& given);  // 0: it is no area

// What the headers say, without a look at what they describe: cheap, and only a hint.
struct SlotHint {
  bool complete = false;
  std::uint64_t sequence = 0;
};
// Of the newest complete copy.
[[nodiscard]] SlotHint newest_hint(const GivenMemory& given);

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
    std::uint64_t bytes = 0;  // of the slot, that it takes
  };
  // nullopt: there is none in that slot, or it is damaged.
  [[nodiscard]] std::optional<Found> copy_in(std::size_t slot) const;
  // Every complete copy whose header and description are right, the newest first.
  [[nodiscard]] std::vector<Found> complete_copies() const;
  [[nodiscard]] std::uint64_t slot_bytes() const { return shape_.slot_bytes; }
  // It is still the same one.
  [[nodiscard]] static bool is_unchanged(const Found& found);

 private:
  CopyView(const char* start, std::uint64_t bytes, checkpoint::AreaShape shape)
      : start_(start), bytes_(bytes), shape_(shape) {}
  const char* start_;
  std::uint64_t bytes_;
  checkpoint::AreaShape shape_;
};

}  // namespace robustrun::agent
