#pragma once
// Copies a rank's state to memory, from which it is saved while training goes on. Owns the memory
// and the copying threads and keeps them between copies.
//
// The oldest slot is filled while another keeps the newest complete copy, so a process that dies at
// any moment leaves a complete copy. A held slot (being written to disk, or held by the agent
// through the board) is never filled. If only the newest slot is not held, that one is overwritten;
// the held copies stay complete. One thread calls use(), stage() and discard(); others may hold and
// release slots.

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "checkpoint/memory/copies_kept.h"
#include "checkpoint/memory/copy_pool.h"
#include "checkpoint/memory/memory_area.h"
#include "checkpoint/memory/memory_slot.h"
#include "checkpoint/store/store.h"

namespace robustrun::checkpoint {

// What is needed, besides the contents, to save a copy later.
struct StageOrder {
  AttemptId attempt;
  WorldLayout layout;
  std::vector<std::string> directories;  // the store's; the first is the home
  std::vector<std::string> writers;  // all writers of the attempt
  std::string writer;  // the part's writer
};

class Staging {
 public:
  // `threads`: number of copying threads, including the caller's.
  explicit Staging(unsigned threads) : pool_(threads) {}

  // Bytes that a slot needs for these contents.
  static base::Result<std::uint64_t> slot_bytes_for(const StageOrder& order,
                                                    const PartContents& contents);
  // Keeps copies in `area` from now on. Complete copies that are already in `area` are kept; those
  // in the previous area are dropped. kConflict: hold() keeps a slot.
  base::Status use(MemoryArea area);
  [[nodiscard]] const MemoryArea& area() const { return area_; }

  // Copies everything and returns the slot; the sources may then change. kInvalidArgument:
  // `contents` or `order` is inconsistent. kLimit: the slots are too small. kConflict: all slots
  // are held. kCorrupt: a tensor changed while it was copied; this is detected by sampling, and the
  // text names the tensor.
  base::Result<std::size_t> stage(const StageOrder& order, const PartContents& contents);
  // Invalidates the copy. For a caller that finds that its sources changed during the copy.
  void discard(std::size_t slot);
  // Keeps the slot unchanged until release(). Holds are not counted: one release ends them all.
  void hold(std::size_t slot) { held_[slot].store(true, std::memory_order_release); }
  void release(std::size_t slot) { held_[slot].store(false, std::memory_order_release); }
  [[nodiscard]] bool is_held(std::size_t slot) const {
    return held_[slot].load(std::memory_order_acquire);
  }

  // The copying threads, for restore_copy().
  [[nodiscard]] CopyPool& pool() { return pool_; }

 private:
  // Takes the oldest slot that is not held. If there is a board, the slot counts as being filled
  // until board_->end_filling().
  base::Result<std::size_t> begin_filling();
  base::Status fill(std::size_t index, MemoryCopy& copy, const PartContents& contents);

  CopyPool pool_;
  MemoryArea area_;
  std::optional<HoldBoard> board_;  // of `area_`
  std::array<std::atomic<bool>, kCopiesMax> held_{};
  std::array<std::uint64_t, kCopiesMax> sequences_{};  // of the copies; 0: no copy
};

// A copy and the slot that contains it.
struct FoundCopy {
  std::size_t slot = 0;
  MemoryCopy copy;
};
// The newest complete copy of `attempt`. kNotFound: there is none.
base::Result<FoundCopy> find_copy(const MemoryArea& area, const AttemptId& attempt);
// All complete copies, newest first; damaged ones are left out.
[[nodiscard]] std::vector<FoundCopy> complete_copies(const MemoryArea& area);

// Finds the copy's shards in `committed`, which also has the shards of other writers, and returns
// the index of the first. nullopt: `committed` is of another attempt, or does not have all shards
// of the copy in a row.
[[nodiscard]] std::optional<std::size_t> first_shard_of(const MemoryCopy& copy,
                                                        const Manifest& committed);

struct WantedShard {
  std::size_t shard = 0;  // index into the copy's shards
  std::span<char> destination;  // as long as the shard
};
// Copies shards of the copy in `slot` to their destinations. kCorrupt names the first damaged
// tensor; then no destination may be used.
base::Status restore_copy(std::span<const char> slot, const MemoryCopy& copy,
                          std::span<const WantedShard> wanted, CopyPool& pool);

// Saves the copy in `slot` as its writer's part, and commits if this was the last part. Then marks
// the slot as drained. Blocks. kCorrupt names a tensor whose copy was damaged in memory; then
// nothing is saved. Other errors: those of read_slot() and of the store. `file_tag`: as in
// PartContents.
base::Result<Completion> drain_copy(std::span<char> slot, Store& store,
                                    const std::string& file_tag = {});

}  // namespace robustrun::checkpoint
