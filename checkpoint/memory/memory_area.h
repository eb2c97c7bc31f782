#pragma once
// Memory for several copies of a rank's state (copies_kept.h says how many), so that one is
// complete while another is written. The memory is this process's own, or a memfd of the agent,
// which keeps the copies if this process dies. A memfd may have a board (hold_board.h), with which
// the agent protects copies from being overwritten.
//
// All memory is allocated before use, so a lack of memory is an error here and not a SIGBUS later.
// A memfd is sealed, so that no process can shorten it while another reads it.

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/core/result.h"
#include "base/io/fd.h"
#include "checkpoint/disk/arena.h"
#include "checkpoint/memory/copies_kept.h"
#include "checkpoint/memory/hold_board.h"

namespace robustrun::checkpoint {

// How a memory area is divided, which follows from its length.
struct AreaShape {
  std::size_t slots = 0;
  std::uint64_t slot_bytes = 0;
  bool has_board = false;
};
// Returns nullopt if no area has this length.
[[nodiscard]] std::optional<AreaShape> area_shape(std::uint64_t bytes);

class MemoryArea {
 public:
  // Allocates kCopiesWithoutBoard slots of at least `slot_bytes` in this process.
  static base::Result<MemoryArea> own(std::uint64_t slot_bytes);
  // When pages are mapped: kNow maps all at once, which makes the first copy fast. kWhenUsed maps
  // each on first use, for a process that reads only some of them.
  enum class Pages : std::uint8_t { kNow, kWhenUsed };
  // Maps `memory`. kInvalidArgument: it is not sealed, or no area has its length.
  static base::Result<MemoryArea> shared(base::Fd memory, Pages pages = Pages::kNow);
  MemoryArea() = default;
  MemoryArea(MemoryArea&& other) noexcept { swap(other); }
  MemoryArea& operator=(MemoryArea&& other) noexcept {
    swap(other);
    return *this;
  }
  MemoryArea(const MemoryArea&) = delete;
  MemoryArea& operator=(const MemoryArea&) = delete;
  ~MemoryArea();

  // A slot, aligned to pages; `index` is below slots(). All slots have slot_bytes() bytes.
  [[nodiscard]] std::span<char> slot(std::size_t index) const;
  [[nodiscard]] std::size_t slots() const { return shape_.slots; }
  [[nodiscard]] std::uint64_t slot_bytes() const { return shape_.slot_bytes; }
  [[nodiscard]] std::optional<HoldBoard> board() const;
  [[nodiscard]] bool is_shared() const { return mapped_ != nullptr; }

 private:
  void swap(MemoryArea& other) noexcept;

  Arena arena_;  // if the memory is this process's own
  char* mapped_ = nullptr;  // otherwise the mapped memfd
  std::uint64_t bytes_ = 0;
  AreaShape shape_;
};

// Length of an area with slots of at least `slot_bytes`. kLimit: `slot_bytes` is 0, or kCopiesMax
// slots would exceed kMemoryBytesMax.
base::Result<std::uint64_t> area_bytes(std::uint64_t slot_bytes, bool with_board = false);
// Makes a memfd of `bytes` zeros that can neither shrink nor grow, with all its memory allocated.
// kLimit, ENOMEM or ENOSPC: the machine has too little memory. May take a second per GiB.
base::Result<base::Fd> make_sealed_memory(std::uint64_t bytes);
// Bytes of memory that the machine could give to a new process; 0: unknown.
[[nodiscard]] std::uint64_t available_memory();

}  // namespace robustrun::checkpoint
