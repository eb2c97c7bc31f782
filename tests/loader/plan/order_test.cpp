#include "loader/plan/order.h"

#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "loader/plan/permutation.h"

namespace order_test {

using namespace robustrun;
using namespace robustrun::loader;

TEST_CASE("a permutation visits each value once, and its inverse finds the place") {
  for (const std::uint64_t size : {1U, 2U, 3U, 4U, 5U, 17U, 256U, 1000U}) {
    const Permutation permutation(42, size);
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < size; ++i) {
      const std::uint64_t value = permutation.at(i);
      CHECK(value < size);
      CHECK(permutation.inverse(value) == i);
      seen.insert(value);
    }
    CHECK(seen.size() == size);
  }
}

TEST_CASE("an order reads each sample once, whatever the sizes of blocks and windows") {
  for (const std::uint64_t samples : {1U, 2U, 7U, 64U, 65U, 1000U}) {
    for (const std::uint64_t block : {1U, 3U, 64U, 5000U}) {
      for (const std::uint64_t window : {1U, 2U, 8U, 1000U}) {
        CAPTURE(samples);
        CAPTURE(block);
        CAPTURE(window);
        for (const std::uint64_t key : {1U, 2U, 3U}) {
          Order order(key, samples, block, window);
          std::set<std::uint64_t> seen;
          for (std::uint64_t i = 0; i < samples; ++i) seen.insert(order.sample(i));
          CHECK(seen.size() == samples);
          CHECK(*seen.rbegin() == samples - 1);
        }
      }
    }
  }
}

TEST_CASE("a window reads only its own blocks") {
  Order order(7, 1000, 10, 4);
  for (std::uint64_t window = 0; window < 25; ++window) {
    std::set<std::uint64_t> blocks;
    for (std::uint64_t i = 0; i < 40; ++i) blocks.insert(order.sample(window * 40 + i) / 10);
    CHECK(blocks.size() == 4);
  }
}

TEST_CASE("a sample does not depend on those that were asked for before") {
  for (const std::uint64_t block : {1U, 7U, 100U}) {
    for (const std::uint64_t window : {1U, 4U, 500U}) {
      Order in_order(3, 1000, block, window);
      Order in_steps(3, 1000, block, window);
      std::vector<std::uint64_t> samples;
      for (std::uint64_t i = 0; i < 1000; ++i) samples.push_back(in_order.sample(i));
      for (std::uint64_t i = 0; i < 1000; ++i) {
        const std::uint64_t position = i * 379 % 1000;
        CHECK(in_steps.sample(position) == samples[position]);
        CHECK(Order(3, 1000, block, window).sample(position) == samples[position]);
      }
    }
  }
}

TEST_CASE("keys give different orders, and neighbours do not stay neighbours") {
  Order one(1, 10'000, 100, 8);
  Order other(2, 10'000, 100, 8);
  std::uint64_t equal = 0;
  std::uint64_t in_a_row = 0;
  for (std::uint64_t i = 0; i < 10'000; ++i) {
    if (one.sample(i) == other.sample(i)) ++equal;
    if (i > 0 && one.sample(i) == one.sample(i - 1) + 1) ++in_a_row;
  }
  CHECK(equal < 50);
  CHECK(in_a_row < 100);
}

}  // namespace order_test
