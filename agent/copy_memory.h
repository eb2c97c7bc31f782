#pragma once
// Memory for copies of workers' states (checkpoint/memory_area.h) as descriptors, and a look into
// it that touches nothing that is not read. What lies in it is not trusted.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"
#include "checkpoint/memory_slot.h"

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
  // Every complete copy whose header and description are right, the newest first.
  [[nodiscard]] std::vector<Found> complete_copies() const;
  [[nodiscard]] std::uint64_t slot_bytes() const;
  // It is still the same one.
  [[nodiscard]] static bool is_unchanged(const Found& found);

 private:
  CopyView(const char* start, std::uint64_t bytes) : start_(start), bytes_(bytes) {}
  const char* start_;
  std::uint64_t bytes_;
};

}  // namespace robustrun::agent
