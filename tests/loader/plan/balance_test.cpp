#include "loader/plan/balance.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "base/core/clock.h"
#include "loader/plan/pack.h"

namespace balance_test {

using namespace robustrun;
using namespace robustrun::loader;

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : rng_(seed) {}
  std::uint32_t operator()(std::uint32_t below) {
    return static_cast<std::uint32_t>(rng_.below(below));
  }

 private:
  base::Rng rng_;
};

std::vector<std::uint32_t> tokens_of(const Packing& packing,
                                     const std::vector<std::uint32_t>& lengths,
                                     std::uint32_t bins) {
  std::vector<std::uint32_t> tokens(bins);
  for (std::size_t i = 0; i < packing.size(); ++i) {
    if (packing[i] != kLeft) tokens.at(packing[i]) += lengths[i];
  }
  return tokens;
}

TEST_CASE("no way of packing overfills a bin, and what is left fits nowhere") {
  Draw random(5);
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t capacity = 10 + random(100);
    const std::uint32_t bins = 1 + random(20);
    std::vector<std::uint32_t> lengths(random(100));
    for (auto& length : lengths) length = 1 + random(capacity);
    const std::vector<std::uint64_t> costs(lengths.begin(), lengths.end());
    for (const Packing& packing :
         {best_fit(lengths, capacity, bins), best_fit(lengths, capacity, bins, 3),
          best_fit_in_order(lengths, capacity, bins), even_cost(lengths, costs, capacity, bins)}) {
      const auto tokens = tokens_of(packing, lengths, bins);
      const std::uint32_t room = capacity - std::ranges::min(tokens);
      for (const std::uint32_t used : tokens) CHECK(used <= capacity);
      for (std::size_t i = 0; i < lengths.size(); ++i) {
        if (packing[i] == kLeft) CHECK(lengths[i] > room);
      }
    }
    const Packing in_turn = next_fit(lengths, capacity, bins);
    for (const std::uint32_t used : tokens_of(in_turn, lengths, bins)) CHECK(used <= capacity);
    CHECK(std::ranges::is_sorted(in_turn));
  }
}

// The rule, without a structure that makes it quick.
Packing plain_best_fit(const std::vector<std::uint32_t>& lengths, std::uint32_t capacity,
                       std::uint32_t bins) {
  Packing packing;
  std::vector<std::uint32_t> rooms;
  for (const std::uint32_t length : lengths) {
    std::size_t best = rooms.size();
    for (std::size_t bin = 0; bin < rooms.size(); ++bin) {
      if (rooms[bin] >= length && (best == rooms.size() || rooms[bin] < rooms[best])) best = bin;
    }
    if (best == rooms.size() && best < bins) rooms.push_back(capacity);
    if (best < rooms.size()) rooms[best] -= length;
    packing.push_back(best < rooms.size() ? static_cast<std::uint32_t>(best) : kLeft);
  }
  return packing;
}

TEST_CASE("best-fit takes the fullest bin that has room, the first one of several") {
  Draw random(11);
  for (const std::uint32_t bins : {1U, 20U, 300U, 3000U}) {
    for (const std::uint32_t capacity : {4U, 100U, 1U << 20U}) {
      std::vector<std::uint32_t> lengths(4000);
      for (auto& length : lengths) length = 1 + random(1 + random(capacity));
      CHECK(best_fit_in_order(lengths, capacity, bins) == plain_best_fit(lengths, capacity, bins));
      std::vector<std::uint32_t> falling = lengths;
      std::ranges::sort(falling, std::greater{});
      std::vector<std::uint32_t> order(lengths.size());
      std::iota(order.begin(), order.end(), 0U);
      std::ranges::stable_sort(
          order, [&](std::uint32_t a, std::uint32_t b) { return lengths[a] > lengths[b]; });
      const Packing packing = best_fit(lengths, capacity, bins);
      const Packing plain = plain_best_fit(falling, capacity, bins);
      for (std::size_t i = 0; i < order.size(); ++i) CHECK(packing[order[i]] == plain[i]);
    }
  }
}

TEST_CASE("urgent pieces get room before longer ones") {
  const std::vector<std::uint32_t> lengths{3, 10, 10};
  CHECK(best_fit(lengths, 10, 2) == Packing{kLeft, 0, 1});
  CHECK(best_fit(lengths, 10, 2, 1) == Packing{0, 1, kLeft});
}

TEST_CASE("a deal gives each bin to one rank and one micro-batch, equally many to each") {
  Draw random(6);
  for (const Sync sync : {Sync::kStep, Sync::kMicro}) {
    for (int round = 0; round < 100; ++round) {
      const std::uint32_t ranks = 1 + random(9);
      const std::uint32_t micro = 1 + random(5);
      const std::size_t each = 1 + random(4);
      std::vector<std::uint64_t> costs(ranks * micro * each);
      for (auto& cost : costs) cost = random(1000);
      std::vector<std::uint32_t> seen;
      const Deal dealt = deal(costs, ranks, micro, sync);
      CHECK(dealt.size() == ranks);
      for (const auto& rank : dealt) {
        CHECK(rank.size() == micro);
        for (const auto& batch : rank) {
          CHECK(batch.size() == each);
          seen.insert(seen.end(), batch.begin(), batch.end());
        }
      }
      std::ranges::sort(seen);
      std::vector<std::uint32_t> all(costs.size());
      std::iota(all.begin(), all.end(), 0U);
      CHECK(seen == all);
    }
  }
}

// Sum of the heaviest group over the best one of all groupings.
double over_optimum(const std::vector<std::uint64_t>& items, std::uint32_t count) {
  std::vector<std::uint64_t> sums(count);
  std::vector<std::size_t> sizes(count);
  std::uint64_t best = ~std::uint64_t{0};
  const std::size_t full = items.size() / count;
  const auto search = [&](const auto& self, std::size_t at) -> void {
    if (at == items.size()) {
      best = std::min(best, std::ranges::max(sums));
      return;
    }
    for (std::uint32_t group = 0; group < count; ++group) {
      if (sizes[group] == full) continue;
      sums[group] += items[at];
      ++sizes[group];
      self(self, at + 1);
      sums[group] -= items[at];
      --sizes[group];
      if (sizes[group] == 0) break;  // empty groups are alike
    }
  };
  search(search, 0);
  std::uint64_t heaviest = 0;
  for (const auto& group : even_groups(items, count)) {
    std::uint64_t sum = 0;
    for (const std::uint32_t item : group) sum += items[item];
    heaviest = std::max(heaviest, sum);
  }
  return static_cast<double>(heaviest) / static_cast<double>(best);
}

TEST_CASE("groups are near the optimum of small instances") {
  Draw random(9);
  std::vector<double> over;
  for (int round = 0; round < 200; ++round) {
    const std::uint32_t groups = 2 + random(2);
    std::vector<std::uint64_t> items(groups * 4);
    for (auto& item : items)
      item = 1 + std::uint64_t{random(1000)} * random(1000) * random(1000) / 100'000;
    over.push_back(over_optimum(items, groups));
  }
  std::ranges::sort(over);
  MESSAGE("over the optimum: median " << over[100] << ", worst " << over.back());
  CHECK(over[100] <= 1.01);
  CHECK(over.back() <= 1.06);
}

}  // namespace balance_test
