#pragma once
// Decides which attempts retention may remove. Pure: retention.h reads and acts, tests/sim plays
// the same choice. Users read the rule as `keep` in python/robustrun/checkpoint.py,
// python/robustrun/_checkpoint/c_api.py, docs/checkpoints.md and `ckpt prune --help`. Tests of what
// stays on disk: tests/checkpoint (store, format), tests/e2e/checkpoint.

#include <cstddef>
#include <cstdint>

#include "checkpoint/store/attempt_choice.h"

namespace robustrun::checkpoint {

class RetentionChoice {
 public:
  // `keep`: how many verified attempts to keep. `oldest`: the lowest generation that may still
  // commit.
  RetentionChoice(std::size_t keep, std::uint64_t oldest) : keep_(keep), oldest_(oldest) {}

  // Call this for all attempts, newest first (is_newer). Returns whether `one` may be removed.
  // `is_whole`: it was read back and found sound. A committed attempt that is not pinned may go if
  // `keep` newer ones are whole and may be started from. Attempts on disks of single machines
  // never count among these, because they are lost with any of the machines; they may themselves go
  // after the first newer one that counts.
  [[nodiscard]] bool may_go(const AttemptFacts& one, bool is_whole);

 private:
  std::size_t keep_;
  std::uint64_t oldest_;
  std::size_t kept_ = 0;
};

}  // namespace robustrun::checkpoint
