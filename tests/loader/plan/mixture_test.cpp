#include "loader/plan/mixture.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <vector>

#include "base/core/clock.h"

namespace mixture_test {

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

std::int64_t largest(const Mixture& mixture) {
  std::int64_t most = 0;
  for (const std::int64_t owed : mixture.owed()) most = std::max(most, std::abs(owed));
  return most;
}

TEST_CASE("counts follow constant weights within one sample at every moment") {
  Draw random(11);
  for (int round = 0; round < 200; ++round) {
    const std::size_t sources = 2 + random(12);
    std::vector<std::uint64_t> weights(sources);
    for (auto& weight : weights) weight = 1 + random(1'000'000);
    Mixture mixture(std::vector<std::int64_t>(sources, 0));
    mixture.set_weights(weights);
    // Tijdeman's bound, and what rounding to the integers of `owed` may add.
    const std::int64_t bound =
        Mixture::kOne - Mixture::kOne / static_cast<std::int64_t>(2 * sources - 2) + 1;
    for (int i = 0; i < 2000; ++i) {
      static_cast<void>(mixture.draw());
      REQUIRE(largest(mixture) <= bound);
    }
  }
}

TEST_CASE("counts stay within one and a half samples while weights change at each step") {
  Draw random(12);
  for (int round = 0; round < 100; ++round) {
    const std::size_t sources = 2 + random(12);
    std::vector<std::uint64_t> weights(sources);
    std::vector<std::int64_t> slope(sources);
    for (auto& weight : weights) weight = 400'000 + random(1'000'000);
    for (auto& one : slope) one = static_cast<std::int64_t>(random(2001)) - 1000;
    Mixture mixture(std::vector<std::int64_t>(sources, 0));
    for (int step = 0; step < 300; ++step) {
      for (std::size_t i = 0; i < sources; ++i) {
        weights[i] = static_cast<std::uint64_t>(static_cast<std::int64_t>(weights[i]) + slope[i]);
      }
      mixture.set_weights(weights);
      for (unsigned i = 0; i < 1 + random(20); ++i) static_cast<void>(mixture.draw());
      REQUIRE(largest(mixture) < Mixture::kOne * 3 / 2);
    }
  }
}

TEST_CASE("a source without weight is never drawn, and one source alone always is") {
  Mixture mixture({0, 0, 0});
  mixture.set_weights(std::vector<std::uint64_t>{1, 0, 3});
  for (int i = 0; i < 1000; ++i) CHECK(mixture.draw() != 1);
  mixture.set_weights(std::vector<std::uint64_t>{0, 5, 0});
  for (int i = 0; i < 1000; ++i) CHECK(mixture.draw() == 1);
}

TEST_CASE("a mixture goes on from what was owed") {
  Mixture whole({0, 0, 0});
  whole.set_weights(std::vector<std::uint64_t>{5, 2, 9});
  std::vector<std::uint32_t> drawn;
  for (int i = 0; i < 50; ++i) drawn.push_back(whole.draw());
  Mixture first({0, 0, 0});
  first.set_weights(std::vector<std::uint64_t>{5, 2, 9});
  for (int i = 0; i < 20; ++i) CHECK(first.draw() == drawn[static_cast<std::size_t>(i)]);
  Mixture second(first.owed());
  second.set_weights(std::vector<std::uint64_t>{5, 2, 9});
  for (int i = 20; i < 50; ++i) CHECK(second.draw() == drawn[static_cast<std::size_t>(i)]);
}

}  // namespace mixture_test
