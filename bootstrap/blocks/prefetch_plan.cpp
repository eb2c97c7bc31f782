#include "bootstrap/blocks/prefetch_plan.h"

#include <algorithm>

namespace robustrun::bootstrap {

PrefetchPlan::PrefetchPlan(const BlockProfile& profile, const std::vector<bool>& present)
    : is_hot_missing_(present.size()),
      there_(present),
      there_count_(static_cast<std::uint64_t>(std::ranges::count(present, true))) {
  for (const HotBlock& each : profile.blocks) {
    if (each.block >= present.size() || is_hot_missing_[each.block]) continue;
    hot_.push_back(each.block);
    is_hot_missing_[each.block] = true;
    ++hot_missing_;
  }
}

std::optional<std::uint64_t> PrefetchPlan::next_hot() {
  while (hot_next_ < hot_.size()) {
    const std::uint32_t block = hot_[hot_next_++];
    if (is_hot_missing_[block]) return block;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> PrefetchPlan::next_cold() {
  while (cold_next_ < there_.size()) {
    const std::size_t block = cold_next_++;
    if (!there_[block]) return block;
  }
  return std::nullopt;
}

void PrefetchPlan::mark_there(std::uint64_t block) {
  if (!there_[block]) ++there_count_;
  there_[block] = true;
  if (is_hot_missing_[block]) --hot_missing_;
  is_hot_missing_[block] = false;
}

void PrefetchPlan::start_round() {
  hot_next_ = 0;
  cold_next_ = 0;
}

}  // namespace robustrun::bootstrap
