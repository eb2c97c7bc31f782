#pragma once
// Which block to prefetch next: first those of the profile, in its order, then all others. Pure. A
// failed block comes again in the next round.

#include <cstdint>
#include <optional>
#include <vector>

#include "bootstrap/hot/block_profile.h"

namespace robustrun::bootstrap {

class PrefetchPlan {
 public:
  // `present`: blocks that are in the store. Those of the profile are read all the same: they may
  // be damaged, and reading brings them into the page cache.
  PrefetchPlan(const BlockProfile& profile, const std::vector<bool>& present);

  // Blocks of the profile are hot, all others cold. Call next_cold() once next_hot() has none left.
  // The next such block of this round; nullopt: none is left.
  [[nodiscard]] std::optional<std::uint64_t> next_hot();
  [[nodiscard]] std::optional<std::uint64_t> next_cold();
  // The block is in the store now, however it came. If the store had no room, do not call this.
  void mark_there(std::uint64_t block);
  // Restarts both rounds with the missing blocks.
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
