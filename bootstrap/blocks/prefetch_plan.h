#pragma once
// Which block is fetched next although nobody waits for it: first those of the profile, in its
// order, then all others. Pure; what has failed comes again in the next round.

#include <cstdint>
#include <optional>
#include <vector>

#include "bootstrap/hot/block_profile.h"

namespace robustrun::bootstrap {

class PrefetchPlan {
 public:
  // `present`: blocks that are in the store. Those of the profile are read all the same: they may
  // be damaged, and are in the page cache then.
  PrefetchPlan(const BlockProfile& profile, const std::vector<bool>& present);

  // The next one of this round; nothing: the round is over.
  [[nodiscard]] std::optional<std::uint64_t> next_hot();
  [[nodiscard]] std::optional<std::uint64_t> next_cold();
  // It was delivered, by whatever way.
  void mark_there(std::uint64_t block);
  // Begins both rounds anew, with what is not there.
  void start_round();

  [[nodiscard]] std::uint64_t hot_blocks() const { return hot_.size(); }
  [[nodiscard]] std::uint64_t stored_blocks() const { return there_count_; }
  [[nodiscard]] bool is_hot_done() const { return hot_missing_ == 0; }
  [[nodiscard]] bool is_all_done() const { return there_count_ == there_.size(); }

 private:
  std::vector<std::uint32_t> hot_;
  std::vector<bool> is_hot_missing_;  // by block: of the profile, and not delivered yet
  std::vector<bool> there_;
  std::uint64_t hot_missing_ = 0;
  std::uint64_t there_count_ = 0;
  std::size_t hot_next_ = 0;
  std::size_t cold_next_ = 0;
};

}  // namespace robustrun::bootstrap
