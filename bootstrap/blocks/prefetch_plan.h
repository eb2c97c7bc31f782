#pragma once
// Decides which block to prefetch next: first the hot blocks (those of the profile, in its order),
// then the cold ones (all others). A block that failed comes again in the next round. Pure.

#include <cstdint>
#include <optional>
#include <vector>

#include "bootstrap/hot/block_profile.h"

namespace robustrun::bootstrap {

class PrefetchPlan {
 public:
  // `present`: for each block, whether it is in the store. Hot blocks are read even if present:
  // they may be damaged, and reading brings them into the page cache.
  PrefetchPlan(const BlockProfile& profile, const std::vector<bool>& present);

  // The next block of this round; nullopt: none is left. Call next_cold() when no hot block is
  // left.
  [[nodiscard]] std::optional<std::uint64_t> next_hot();
  [[nodiscard]] std::optional<std::uint64_t> next_cold();
  // Call this when a block is in the store, whether or not it was prefetched.
  void mark_there(std::uint64_t block);
  // Begins the next round, with the blocks that are still missing.
  void start_round();

  [[nodiscard]] std::uint64_t hot_blocks() const { return hot_.size(); }
  [[nodiscard]] std::uint64_t stored_blocks() const { return there_count_; }
  [[nodiscard]] bool is_hot_done() const { return hot_missing_ == 0; }
  [[nodiscard]] bool is_all_done() const { return there_count_ == there_.size(); }

 private:
  std::vector<std::uint32_t> hot_;
  std::vector<bool> is_hot_missing_;  // by block: in the profile and not delivered yet
  std::vector<bool> there_;
  std::uint64_t hot_missing_ = 0;
  std::uint64_t there_count_ = 0;
  std::size_t hot_next_ = 0;
  std::size_t cold_next_ = 0;
};

}  // namespace robustrun::bootstrap
