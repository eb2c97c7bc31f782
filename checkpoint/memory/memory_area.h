#pragma once
// Memory for two copies of a rank's state, so that one is whole while the other is being written:
// this process's own, or a memfd that another process keeps when this one dies. Such a memfd may
// have room for four, and a board (hold_board.h) by which that process holds up to two of them.
//
// All of it is there before it is used: a page that the machine does not have is an error here,
// never a SIGBUS later. A memfd is sealed: nobody can shorten it under a reader.

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "base/core/result.h"
#include "base/io/fd.h"
#include "checkpoint/disk/arena.h"
#include "checkpoint/memory/hold_board.h"

namespace robustrun::checkpoint {

// What a memory of some length is divided into.
struct AreaShape {
  std::size_t slots = 0;
  std::uint64_t slot_bytes = 0;
  bool has_board = false;
};
// nullopt: no area is as long.
[[nodiscard]] std::optional<AreaShape> area_shape(std::uint64_t bytes);

class MemoryArea {
 public:
  static constexpr std::size_t kSlotsMax = 4;

  // With room for two slots of `slot_bytes`.
  static base::Result<MemoryArea> own(std::uint64_t slot_bytes);
  // kInvalidArgument when `memory` is not as make_sealed_memory() makes it.
  static base::Result<MemoryArea> shared(base::Fd memory);
  MemoryArea() = default;
  MemoryArea(MemoryArea&& other) noexcept { swap(other); }
  MemoryArea& operator=(MemoryArea&& other) noexcept {
    swap(other);
    return *this;
  }
  MemoryArea(const MemoryArea&) = delete;
  MemoryArea& operator=(const MemoryArea&) = delete;
  ~MemoryArea();

  // Aligned to pages; `index` below slots(). All are as long.
  [[nodiscard]] std::span<char> slot(std::size_t index) const;
  [[nodiscard]] std::size_t slots() const { return shape_.slots; }
  [[nodiscard]] std::uint64_t slot_bytes() const { return shape_.slot_bytes; }
  [[nodiscard]] std::optional<HoldBoard> board() const;
  [[nodiscard]] bool is_shared() const { return mapped_ != nullptr; }

 private:
  void swap(MemoryArea& other) noexcept;

  Arena arena_;              // of this process's own
  char* mapped_ = nullptr;   // of a memfd
  std::uint64_t bytes_ = 0;
  AreaShape shape_;
};

// Bytes of an area with slots of `slot_bytes`: two, or four and a board. kLimit beyond
// kMemoryBytesMax.
base::Result<std::uint64_t> area_bytes(std::uint64_t slot_bytes, bool with_board = false);
// A memfd of `bytes`, all of them reserved and zero, which can neither shrink nor grow. kLimit,
// ENOMEM or ENOSPC when the machine has no room. May take a second for each GiB.
base::Result<base::Fd> make_sealed_memory(std::uint64_t bytes);
// How much memory the machine could give to somebody new, in bytes; 0: unknown.
[[nodiscard]] std::uint64_t available_memory();

}  // namespace robustrun::checkpoint
