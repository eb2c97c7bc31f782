#include "loader/plan/mixture.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/core/result.h"
#include "loader/plan/wide.h"

namespace robustrun::loader {

void Mixture::set_weights(std::span<const std::uint64_t> weights) {
  RR_ASSERT(weights.size() == owed_.size());
  Wide sum = 0;
  for (const std::uint64_t weight : weights) sum += weight;
  RR_ASSERT(sum > 0);
  // Rounding errors of sums are spread, so that the shares sum to kOne exactly.
  Wide before = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const Wide after = before + weights[i];
    share_[i] = static_cast<std::int64_t>(after * kOne / sum - before * kOne / sum);
    before = after;
  }
  const auto active = std::ranges::count_if(share_, [](std::int64_t share) { return share > 0; });
  RR_ASSERT(active > 0);
  slack_ = active == 1 ? kOne : kOne / (2 * active - 2);
}

std::uint32_t Mixture::draw() {
  RR_ASSERT(slack_ > 0);
  const std::int64_t slack = slack_;
  std::size_t chosen = owed_.size();
  std::size_t most_owed = owed_.size();
  std::int64_t nearest = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < owed_.size(); ++i) {
    if (share_[i] == 0) continue;
    owed_[i] += share_[i];
    if (most_owed == owed_.size() || owed_[i] > owed_[most_owed]) most_owed = i;
    if (owed_[i] < slack) continue;
    const std::int64_t missing = std::max<std::int64_t>(kOne - slack - owed_[i], 0);
    const std::int64_t deadline = missing == 0 ? 0 : (missing + share_[i] - 1) / share_[i];
    if (deadline < nearest) {
      nearest = deadline;
      chosen = i;
    }
  }
  if (chosen == owed_.size()) chosen = most_owed;  // after a change of the weights
  owed_[chosen] -= kOne;
  return static_cast<std::uint32_t>(chosen);
}

void Mixture::take_back(std::uint32_t source) {
  for (std::size_t i = 0; i < owed_.size(); ++i) owed_[i] -= share_[i];
  owed_[source] += kOne;
}

}  // namespace robustrun::loader
