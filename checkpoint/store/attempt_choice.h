#pragma once
// What the directories hold of an attempt, and what follows: its state, which one is the newer,
// which may be started from, and the numbers of what comes next. Pure: catalog.h, store.h and
// retention.h look and act; tests/sim plays the same choices on disks that come and go.
//
// Order: generation, then the number of the commit. Clocks of nodes may be wrong by years, and a
// step says nothing: a job that was set back counts the same steps again.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace robustrun::checkpoint {

enum class AttemptState : std::uint8_t {
  kCommitted,
  kIncomplete,  // being written, or left behind by a crash
  kDamaged,  // it was committed, but no copy of its manifest can be read
  kDeleted,  // given up by retention; some of its files are still there
};

// kDamaged: it cannot be read, or is of another attempt.
enum class ManifestCopy : std::uint8_t { kNone, kSound, kDamaged };

// Of an attempt's manifest, in all directories together. One sound copy is enough.
class ManifestCopies {
 public:
  void add(ManifestCopy copy, bool is_deleted) {
    any_sound_ = any_sound_ || copy == ManifestCopy::kSound;
    any_damaged_ = any_damaged_ || copy == ManifestCopy::kDamaged;
    any_deleted_ = any_deleted_ || is_deleted;
  }
  [[nodiscard]] AttemptState state() const;

 private:
  bool any_sound_ = false, any_damaged_ = false, any_deleted_ = false;
};

// A mark in any directory counts: the others may not have been there when it was made.
struct AttemptMarks {
  bool verified = false;  // all was read back and was right
  bool pinned = false;  // never removed by retention
  std::string poisoned{};  // why nobody should start from it; empty: one may
  void add_marks(const AttemptMarks& of_one_directory);
};

// What the choices go by. `token` is whoever's the attempt is.
struct AttemptFacts {
  AttemptState state = AttemptState::kIncomplete;
  std::uint64_t step = 0, generation = 0;
  std::string_view token;
  std::uint64_t sequence = 0;  // of its commit; 0: none
  bool verified = false, pinned = false, poisoned = false;
  bool is_local = false;  // some of it is on disks of single machines alone, which may be lost
};

// What is not committed is behind what is.
[[nodiscard]] bool is_newer(const AttemptFacts& one, const AttemptFacts& other);
[[nodiscard]] bool may_start_from(const AttemptFacts& one);
// Whether one that is complete and only lacks its MANIFEST may get it from a later generation: it
// would be the newest of its own, so not behind a later save that can be started from.
[[nodiscard]] bool may_salvage(const AttemptFacts& one, std::span<const AttemptFacts> all);
// Of the next commit. `all`: that are there.
[[nodiscard]] std::uint64_t next_sequence(std::span<const AttemptFacts> all);
// Of the next session. Higher than that of any attempt, too: the fence may be lost with its
// directory, and its successor's commits would be behind all that the others still have.
[[nodiscard]] std::uint64_t next_generation(std::uint64_t fence, std::span<const AttemptFacts> all);

}  // namespace robustrun::checkpoint
