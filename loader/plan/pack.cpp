#include "loader/plan/pack.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <set>
#include <utility>

#include "base/core/result.h"
#include "loader/plan/rising.h"

namespace robustrun::loader {
namespace {

constexpr unsigned kDigitBits = 11;
constexpr std::uint32_t kDigits = 1U << kDigitBits;

using Indices = std::span<std::uint32_t>;

void sort_falling(std::span<const std::uint64_t> keys, Indices order) {
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return keys[a] > keys[b]; });
}

// By digits, the least one first: several times as quick as a sort that compares.
void sort_falling(std::span<const std::uint32_t> keys, Indices order) {
  std::uint32_t largest = 0;
  for (const std::uint32_t i : order) largest = std::max(largest, keys[i]);
  std::vector<std::uint32_t> before(order.size());
  for (unsigned shift = 0; shift < 32 && largest >> shift > 0; shift += kDigitBits) {
    std::ranges::copy(order, before.begin());
    const auto digit = [&](std::uint32_t i) { return kDigits - 1 - (keys[i] >> shift) % kDigits; };
    std::array<std::uint32_t, kDigits> places{};
    for (const std::uint32_t i : before) ++places[digit(i)];
    std::exclusive_scan(places.begin(), places.end(), places.begin(), 0U);
    for (const std::uint32_t i : before) order[places[digit(i)]++] = i;
  }
}

// Indices by falling `keys`, equal ones by index; the first `urgent` pieces before the others.
template <class Key>
std::vector<std::uint32_t> falling(std::span<const Key> keys, std::size_t urgent) {
  std::vector<std::uint32_t> order(keys.size());
  std::iota(order.begin(), order.end(), 0U);
  const std::size_t border = std::min(urgent, keys.size());
  sort_falling(keys, Indices(order).first(border));
  sort_falling(keys, Indices(order).subspan(border));
  return order;
}

Packing best_fit_of(const std::vector<std::uint32_t>& order, std::span<const std::uint32_t> lengths,
                    std::uint32_t capacity, std::uint32_t bins) {
  Packing packing(lengths.size(), kLeft);
  Rising rooms;  // room << 32 | bin, of bins with contents
  std::uint32_t opened = 0;
  for (const std::uint32_t piece : order) {
    const std::uint64_t length = lengths[piece];
    RR_ASSERT(length <= capacity);
    auto found = rooms.take(length << 32U);
    if (!found) {
      if (opened == bins) continue;
      found = std::uint64_t{capacity} << 32U | opened++;
    }
    if (*found >> 32U > length) rooms.add(*found - (length << 32U));
    packing[piece] = static_cast<std::uint32_t>(*found);
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
