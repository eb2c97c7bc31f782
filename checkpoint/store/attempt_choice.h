#pragma once
// Decisions about attempts to save a step (not attempts of the run): the state of an attempt, which
// of two is newer, from which one a job may start, and the next sequence and generation numbers.
// Pure: catalog.h, store.h and retention.h read the directories and act. tests/sim runs the same
// functions.
//
// Attempts are ordered by generation, then by the commit's sequence number. Neither clocks nor
// steps order them: the clocks of nodes may be wrong by years, and a job that was rolled back
// repeats steps.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace robustrun::checkpoint {

enum class AttemptState : std::uint8_t {
  kCommitted,
  kIncomplete,  // being written, or left by a crash
  kDamaged,  // committed, but no copy of its manifest is readable
  kDeleted,  // removed by retention; some files are left
};

// What one directory has of an attempt's manifest. kDamaged: unreadable, or of another attempt.
enum class ManifestCopy : std::uint8_t { kNone, kSound, kDamaged };

// The copies of an attempt's manifest in all directories. One sound copy is enough.
class ManifestCopies {
 public:
  // `is_deleted`: the directory marks the attempt as deleted.
  void add(ManifestCopy copy, bool is_deleted) {
    any_sound_ = any_sound_ || copy == ManifestCopy::kSound;
    any_damaged_ = any_damaged_ || copy == ManifestCopy::kDamaged;
    any_deleted_ = any_deleted_ || is_deleted;
  }
  [[nodiscard]] AttemptState state() const;

 private:
  bool any_sound_ = false, any_damaged_ = false, any_deleted_ = false;
};

// Marks of an attempt. A mark in any directory counts, because other directories may have been
// missing when the mark was made.
struct AttemptMarks {
  bool verified = false;  // everything was read back and found sound
  bool pinned = false;  // once committed, never removed by retention
  std::string poisoned{};  // why no job should start from it; empty: not poisoned
  void add_marks(const AttemptMarks& of_one_directory);
};

// What the decisions depend on. `token` refers to the AttemptId, which must outlive this object.
struct AttemptFacts {
  AttemptState state = AttemptState::kIncomplete;
  std::uint64_t step = 0, generation = 0;
  std::string_view token;
  std::uint64_t sequence = 0;  // of its commit; 0: not committed
  bool verified = false, pinned = false, poisoned = false;
  bool is_local = false;  // some data is only on disks of single machines, which may be lost
};

// Committed attempts are newer than all others.
[[nodiscard]] bool is_newer(const AttemptFacts& one, const AttemptFacts& other);
[[nodiscard]] bool may_start_from(const AttemptFacts& one);
// Whether a later generation may commit an attempt that is complete but lacks its MANIFEST. False
// if a job can already start from a save of the same generation and of the same or a later step,
// because the late commit would become the newest of that generation.
[[nodiscard]] bool may_salvage(const AttemptFacts& one, std::span<const AttemptFacts> all);
// Sequence number of the next commit; `all`: the attempts found.
[[nodiscard]] std::uint64_t next_sequence(std::span<const AttemptFacts> all);
// Generation of the next session; 0: there is no higher one. It exceeds `fence` and the generations
// of all attempts. The attempts count because the fence may have been lost with its directory;
// without them, the session's commits would be older than those still present.
[[nodiscard]] std::uint64_t next_generation(std::uint64_t fence, std::span<const AttemptFacts> all);

}  // namespace robustrun::checkpoint
