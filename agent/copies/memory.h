#pragma once
// Memory for copies of workers' states (checkpoint/memory/memory_area.h) as descriptors, and a view
// that touches only the pages that are read. The content is not trusted.

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
  base::Fd memory;  // invalid: no memory
  std::uint64_t bytes = 0;  // size of `memory`
};

// A second descriptor of the same memory.
base::Result<GivenMemory> same_memory(const GivenMemory& given);
// New memory, sealed and fully allocated. kLimit: `bytes` is more than the node may spend on
// copies. Blocks, up to a second per GiB.
base::Result<GivenMemory> reserve_copy_memory(std::uint64_t bytes);
// New memory for slots of `slot_bytes`, with a board if `with_board` is set and there is room for
// one.
base::Result<GivenMemory> reserve_area(std::uint64_t slot_bytes, bool with_board);
// Copies `given`, an area without a board, to a new area with one; returns `given` itself if there
// is no room. Blocks like reserve_copy_memory().
GivenMemory widened(GivenMemory given);
[[nodiscard]] bool has_board(const GivenMemory& given);
[[nodiscard]] std::uint64_t slot_bytes_of(const GivenMemory& given);  // 0: no valid area

// What the headers say, without reading what they describe: cheap, and only a hint.
struct SlotHint {
  bool complete = false;
  std::uint64_t sequence = 0;
};
// The hint of the newest complete copy.
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
    std::uint64_t bytes = 0;  // used bytes of the slot
  };
  // nullopt: the slot has no copy, or a damaged one.
  [[nodiscard]] std::optional<Found> copy_in(std::size_t slot) const;
  // Every complete copy whose header and description are valid, newest first.
  [[nodiscard]] std::vector<Found> complete_copies() const;
  [[nodiscard]] std::uint64_t slot_bytes() const { return shape_.slot_bytes; }
  // Whether `found` has not been overwritten since it was returned.
  [[nodiscard]] static bool is_unchanged(const Found& found);

 private:
  CopyView(const char* start, std::uint64_t bytes, checkpoint::AreaShape shape)
      : start_(start), bytes_(bytes), shape_(shape) {}
  const char* start_;
  std::uint64_t bytes_;
  checkpoint::AreaShape shape_;
};

}  // namespace robustrun::agent
