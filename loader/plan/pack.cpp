#include "loader/plan/pack.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "base/core/result.h"

namespace robustrun::loader {
namespace {

// Indices by falling `keys`, equal ones by index; the first `urgent` pieces before the others.
template <class Key>
std::vector<std::uint32_t> falling(std::span<const Key> keys, std::size_t urgent) {
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0U);
  const auto border = order.begin() + static_cast<std::ptrdiff_t>(std::min(urgent, keys.size()));
  const auto more = [&](std::uint32_t a, std::uint32_t b) { return keys[a] > keys[b]; };
  std::stable_sort(order.begin(), border, more);
  std::stable_sort(border, order.end(), more);
  return order;
}

Packing best_fit_of(const std::vector<std::uint32_t>& order, std::span<const std::uint32_t> lengths,
                    std::uint32_t capacity, std::uint32_t bins) {
  Packing packing(lengths.size(), kLeft);
  std::set<std::pair<std::uint32_t, std::uint32_t>> rooms;  // {room, bin} of bins with contents
  std::uint32_t opened = 0;
  for (const std::uint32_t piece : order) {
    RR_ASSERT(lengths[piece] <= capacity);
    auto found = rooms.lower_bound({lengths[piece], 0});
    if (found == rooms.end()) {
      if (opened == bins) continue;
      found = rooms.emplace(capacity, opened++).first;
    }
    const auto [room, bin] = *found;
    rooms.erase(found);
    if (room > lengths[piece]) rooms.emplace(room - lengths[piece], bin);
    packing[piece] = bin;
  }
  return packing;
}

}  // namespace

Packing next_fit(std::span<const std::uint32_t> lengths, std::uint32_t capacity,
                 std::uint32_t bins) {
  Packing packing(lengths.size(), kLeft);
  std::uint32_t bin = 0;
  std::uint32_t used = 0;
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    RR_ASSERT(lengths[i] <= capacity);
    if (lengths[i] > capacity - used) {
      ++bin;
      used = 0;
    }
    if (bin >= bins) break;
    packing[i] = bin;
    used += lengths[i];
  }
  return packing;
}

Packing best_fit_in_order(std::span<const std::uint32_t> lengths, std::uint32_t capacity,
                          std::uint32_t bins) {
  std::vector<std::uint32_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0U);
  return best_fit_of(order, lengths, capacity, bins);
}

Packing best_fit(std::span<const std::uint32_t> lengths, std::uint32_t capacity, std::uint32_t bins,
                 std::size_t urgent) {
  return best_fit_of(falling(lengths, urgent), lengths, capacity, bins);
}

Packing even_cost(std::span<const std::uint32_t> lengths, std::span<const std::uint64_t> costs,
                  std::uint32_t capacity, std::uint32_t bins, std::size_t urgent) {
  RR_ASSERT(lengths.size() == costs.size());
  Packing packing(lengths.size(), kLeft);
  std::vector<std::uint32_t> room(bins, capacity);
  std::set<std::pair<std::uint64_t, std::uint32_t>> by_cost;  // {cost, bin}
  for (std::uint32_t bin = 0; bin < bins; ++bin) by_cost.emplace(0, bin);
  for (const std::uint32_t piece : falling(costs, urgent)) {
    RR_ASSERT(lengths[piece] <= capacity);
    const auto found = std::ranges::find_if(
        by_cost, [&](const auto& one) { return room[one.second] >= lengths[piece]; });
    if (found == by_cost.end()) continue;
    const auto [cost, bin] = *found;
    by_cost.erase(found);
    room[bin] -= lengths[piece];
    if (room[bin] > 0) by_cost.emplace(cost + costs[piece], bin);
    packing[piece] = bin;
  }
  return packing;
}

}  // namespace robustrun::loader
