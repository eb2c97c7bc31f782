#pragma once
// Which attempts retention may remove. Pure: retention.h looks and acts, tests/sim plays the same.

#include <cstddef>
#include <cstdint>

#include "checkpoint/store/attempt_choice.h"

namespace robustrun::checkpoint {

class RetentionChoice {
 public:
  // `oldest`: the lowest generation that may still commit.
  RetentionChoice(std::size_t keep, std::uint64_t oldest) : keep_(keep), oldest_(oldest) {}

  // To be asked of all, the newest first (is_newer). `is_whole`: it was read back and was right;
  // what is older than `keep` such ones, which one may start from, may go. One on disks of single
  // machines never lets another go: it is lost with any of them. It goes behind the first that
  // does.
  [[nodiscard]] bool may_go(const AttemptFacts& one, bool is_whole);

 private:
  std::size_t keep_;
  std::uint64_t oldest_;
  std::size_t kept_ = 0;
};

}  // namespace robustrun::checkpoint
