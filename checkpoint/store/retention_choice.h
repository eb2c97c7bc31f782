#pragma once
// Decides which attempts retention may remove. Pure: retention.h reads and acts; tests/sim runs the
// same choice. Users read about the rule under `keep` in python/robustrun/checkpoint.py,
// python/robustrun/_checkpoint/c_api.py, docs/checkpoints.md and `ckpt prune --help`.

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
  // `is_whole`: `one` was read back and found sound.
  //
  // A committed attempt that is not pinned may go if `keep` newer ones are whole and a job may
  // start from them. Newer ones on disks of single machines do not count, because the loss of one
  // machine loses them. An attempt on such disks may itself go once one newer attempt counts. An
  // uncommitted attempt may go if its generation is below `oldest`. A damaged one stays.
  [[nodiscard]] bool may_go(const AttemptFacts& one, bool is_whole);

 private:
  std::size_t keep_;
  std::uint64_t oldest_;
  std::size_t kept_ = 0;
};

}  // namespace robustrun::checkpoint
