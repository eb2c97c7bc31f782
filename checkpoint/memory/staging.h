#pragma once
// Copies of a rank's state in memory, from which it is saved while training goes on. Owns the
// memory and the threads that copy, kept from copy to copy.
//
// Two slots or more: one keeps the newest complete copy while the oldest is filled, so that a
// process that dies at any moment leaves one. A slot that is held (being written to disk, or by the
// agent over the memory's board) is not chosen; when that leaves only the newest, it is
// overwritten, and what is held stays the one that is whole. stage() is called by one thread; slots
// may be held and released by others.

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/memory/copy_pool.h"
#include "checkpoint/memory/memory_area.h"
#include "checkpoint/memory/memory_slot.h"
#include "checkpoint/store/store.h"

namespace robustrun::checkpoint {

// What is needed, besides the contents, to save them later.
struct StageOrder {
  AttemptId attempt;
  WorldLayout layout;
  std::vector<std::string> directories;  // of the store; the first is the home
  std::vector<std::string> writers;  // all of them
  std::string writer;  // whose part this is
};

class Staging {
 public:
  // `threads`: that copy, the caller's among them.
  explicit Staging(unsigned threads) : pool_(threads) {}

  // Bytes of a slot that holds this.
  static base::Result<std::uint64_t> slot_bytes_for(const StageOrder& order,
                                                    const PartContents& contents);
  // Copies are kept there from now on; what was kept before is forgotten. kConflict: a slot is
  // held.
  base::Status use(MemoryArea area);
  [[nodiscard]] const MemoryArea& area() const { return area_; }

  // Copies everything and answers with the slot, when the copy is complete and the sources may
  // change again. kLimit: the slots are too small; kConflict: all are held; kCorrupt: a tensor
  // changed while it was copied (found by samples; its name is said).
  base::Result<std::size_t> stage(const StageOrder& order, const PartContents& contents);
  // The copy is not to be used: its sources changed, as the caller knows.
  void discard(std::size_t slot);
  // From now on, until release(), the slot stays as it is.
  void hold(std::size_t slot) { held_[slot].store(true, std::memory_order_release); }
  void release(std::size_t slot) { held_[slot].store(false, std::memory_order_release); }
  [[nodiscard]] bool is_held(std::size_t slot) const {
    return held_[slot].load(std::memory_order_acquire);
  }

  // The threads that copy, for restore_copy().
  [[nodiscard]] CopyPool& pool() { return pool_; }

 private:
  // The oldest, which is ours to fill from then on, until end_filling() of the board.
  base::Result<std::size_t> begin_filling();
  base::Status fill(std::size_t index, MemoryCopy& copy, const PartContents& contents);

  CopyPool pool_;
  MemoryArea area_;
  std::optional<HoldBoard> board_;  // of `area_`
  std::array<std::atomic<bool>, MemoryArea::kSlotsMax> held_{};
  std::array<std::uint64_t, MemoryArea::kSlotsMax> sequences_{};  // of their copies; 0: none
};

// The slot that has a complete copy of that attempt; kNotFound when none has.
struct FoundCopy {
  std::size_t slot = 0;
  MemoryCopy copy;
};
base::Result<FoundCopy> find_copy(const MemoryArea& area, const AttemptId& attempt);
// Every complete copy, the newest first; damaged ones are left out.
[[nodiscard]] std::vector<FoundCopy> complete_copies(const MemoryArea& area);

// Where the copy's shards begin among those of a committed checkpoint; nullopt when that has not
// exactly what the copy says that it has.
[[nodiscard]] std::optional<std::size_t> first_shard_of(const MemoryCopy& copy,
                                                        const Manifest& committed);

struct WantedShard {
  std::size_t shard = 0;  // index into the copy's
  std::span<char> destination;  // as long as the shard
};
// Bytes of the copy in `slot` to where they are wanted. kCorrupt names the first tensor that is
// damaged; then no destination is to be used.
base::Status restore_copy(std::span<const char> slot, const MemoryCopy& copy,
                          std::span<const WantedShard> wanted, CopyPool& pool);

// Saves the copy in `slot` as its writer's part and commits when it is the last one. kCorrupt names
// a tensor that is no longer what was copied: nothing is saved then. `file_tag`: as in
// PartContents.
base::Result<Completion> drain_copy(std::span<char> slot, Store& store,
                                    const std::string& file_tag = {});

}  // namespace robustrun::checkpoint
