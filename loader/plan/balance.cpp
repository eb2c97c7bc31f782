#include "loader/plan/balance.h"

#include <algorithm>
#include <numeric>
#include <queue>
#include <set>
#include <utility>

#include "base/core/result.h"

namespace robustrun::loader {
namespace {

constexpr std::size_t kPairsMax = 1'000'000;  // that are looked at to improve groups: milliseconds

std::vector<std::uint32_t> costliest_first(std::span<const std::uint64_t> items) {
  std::vector<std::uint32_t> order(items.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::stable_sort(order,
                           [&](std::uint32_t a, std::uint32_t b) { return items[a] > items[b]; });
  return order;
}

std::uint64_t sum_of(std::span<const std::uint64_t> items, std::span<const std::uint32_t> chosen) {
  std::uint64_t sum = 0;
  for (const std::uint32_t item : chosen) sum += items[item];
  return sum;
}

std::uint64_t largest_sum(std::span<const std::uint64_t> items, const Groups& groups) {
  std::uint64_t largest = 0;
  for (const auto& group : groups) largest = std::max(largest, sum_of(items, group));
  return largest;
}

// Costliest first, each to the group with the smallest sum that is not full.
Groups longest_first(std::span<const std::uint64_t> items, std::uint32_t count) {
  Groups groups(count);
  const std::size_t full = items.size() / count;
  std::set<std::pair<std::uint64_t, std::uint32_t>> open;  // {sum, group}
  for (std::uint32_t group = 0; group < count; ++group) open.emplace(0, group);
  for (const std::uint32_t item : costliest_first(items)) {
    const auto [sum, group] = *open.begin();
    open.erase(open.begin());
    groups[group].push_back(item);
    if (groups[group].size() < full) open.emplace(sum + items[item], group);
  }
  return groups;
}

// A partial solution of the differencing method: groups by falling sums.
struct Partial {
  struct Part {
    std::uint64_t sum = 0;
    std::vector<std::uint32_t> items;
  };
  std::vector<Part> parts;
  std::uint32_t number = 0;  // breaks ties

  [[nodiscard]] std::uint64_t spread() const { return parts.front().sum - parts.back().sum; }
  bool operator<(const Partial& other) const {
    return std::pair(spread(), other.number) < std::pair(other.spread(), number);
  }
};

// Starts with one item in each group, so that counts stay equal: always the two partial solutions
// with the largest spread become one, the largest group with the smallest.
Groups differenced(std::span<const std::uint64_t> items, std::uint32_t count) {
  std::vector<Partial> heap;
  const std::vector<std::uint32_t> order = costliest_first(items);
  for (std::size_t at = 0; at < order.size(); at += count) {
    Partial partial;
    partial.number = static_cast<std::uint32_t>(heap.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      partial.parts.push_back({items[order[at + i]], {order[at + i]}});
    }
    heap.push_back(std::move(partial));
  }
  std::make_heap(heap.begin(), heap.end());
  const auto take = [&heap] {
    std::pop_heap(heap.begin(), heap.end());
    Partial top = std::move(heap.back());
    heap.pop_back();
    return top;
  };
  while (heap.size() > 1) {
    Partial first = take();
    Partial second = take();
    for (std::uint32_t i = 0; i < count; ++i) {
      Partial::Part& from = second.parts[count - 1 - i];
      first.parts[i].sum += from.sum;
      first.parts[i].items.insert(first.parts[i].items.end(), from.items.begin(), from.items.end());
    }
    std::ranges::stable_sort(first.parts,
                             [](const auto& a, const auto& b) { return a.sum > b.sum; });
    heap.push_back(std::move(first));
    std::push_heap(heap.begin(), heap.end());
  }
  Groups groups;
  for (auto& part : heap.front().parts) groups.push_back(std::move(part.items));
  return groups;
}

// Swaps items of the heaviest group with lighter ones of other groups while that lowers the largest
// sum of the two.
void improve(std::span<const std::uint64_t> items, Groups& groups) {
  std::vector<std::uint64_t> sums;
  for (const auto& group : groups) sums.push_back(sum_of(items, group));
  std::size_t looked_at = 0;
  for (;;) {
    const auto heavy = static_cast<std::size_t>(std::ranges::max_element(sums) - sums.begin());
    std::uint64_t best = sums[heavy];
    std::size_t best_group = heavy;
    std::uint32_t* from = nullptr;
    std::uint32_t* to = nullptr;
    for (std::size_t other = 0; other < groups.size(); ++other) {
      if (other == heavy) continue;
      looked_at += groups[heavy].size() * groups[other].size();
      if (looked_at > kPairsMax) return;
      for (std::uint32_t& a : groups[heavy]) {
        for (std::uint32_t& b : groups[other]) {
          if (items[a] <= items[b]) continue;
          const std::uint64_t moved = items[a] - items[b];
          const std::uint64_t larger = std::max(sums[heavy] - moved, sums[other] + moved);
          if (larger >= best) continue;
          best = larger;
          best_group = other;
          from = &a;
          to = &b;
        }
      }
    }
    if (from == nullptr) return;
    const std::uint64_t moved = items[*from] - items[*to];
    sums[heavy] -= moved;
    sums[best_group] += moved;
    std::swap(*from, *to);
  }
}

}  // namespace

Groups even_groups(std::span<const std::uint64_t> items, std::uint32_t groups) {
  RR_ASSERT(groups >= 1 && !items.empty() && items.size() % groups == 0);
  Groups lpt = longest_first(items, groups);
  Groups kk = differenced(items, groups);
  improve(items, lpt);
  improve(items, kk);
  return largest_sum(items, kk) < largest_sum(items, lpt) ? kk : lpt;
}

Deal deal(std::span<const std::uint64_t> costs, std::uint32_t ranks, std::uint32_t micro,
          Sync sync) {
  RR_ASSERT(ranks >= 1 && micro >= 1 && !costs.empty() &&
            costs.size() % (std::size_t{ranks} * micro) == 0);
  Deal dealt(ranks, std::vector<std::vector<std::uint32_t>>(micro));
  const std::size_t each = costs.size() / (std::size_t{ranks} * micro);
  if (sync == Sync::kStep) {
    const Groups groups = even_groups(costs, ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      for (std::size_t i = 0; i < groups[rank].size(); ++i) {
        dealt[rank][i / each].push_back(groups[rank][i]);
      }
    }
    return dealt;
  }
  const std::vector<std::uint32_t> order = costliest_first(costs);
  for (std::uint32_t round = 0; round < micro; ++round) {
    const auto in_round =
        std::span(order).subspan(round * std::size_t{ranks} * each, std::size_t{ranks} * each);
    std::vector<std::uint64_t> round_costs;
    for (const std::uint32_t bin : in_round) round_costs.push_back(costs[bin]);
    const Groups groups = even_groups(round_costs, ranks);
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      for (const std::uint32_t i : groups[rank]) dealt[rank][round].push_back(in_round[i]);
    }
  }
  return dealt;
}

Deal deal_in_order(std::size_t bins, std::uint32_t ranks, std::uint32_t micro) {
  RR_ASSERT(ranks >= 1 && micro >= 1 && bins % (std::size_t{ranks} * micro) == 0);
  Deal dealt(ranks, std::vector<std::vector<std::uint32_t>>(micro));
  const std::size_t each = bins / (std::size_t{ranks} * micro);
  std::uint32_t bin = 0;
  for (std::uint32_t round = 0; round < micro; ++round) {
    for (auto& rank : dealt) {
      for (std::size_t i = 0; i < each; ++i) rank[round].push_back(bin++);
    }
  }
  return dealt;
}

}  // namespace robustrun::loader
