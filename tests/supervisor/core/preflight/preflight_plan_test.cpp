// Pairs of nodes for calls and measurements.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "supervisor/core/preflight/plan.h"

namespace robustrun::supervisor::preflight_plan_test {
namespace {

using Pair = std::pair<std::uint32_t, std::uint32_t>;

std::set<Pair> calls(std::uint32_t nodes, const std::vector<std::uint32_t>& steps) {
  std::set<Pair> all;
  for (std::uint32_t i = 0; i < nodes; ++i) {
    for (const std::uint32_t step : steps) all.emplace(i, (i + step) % nodes);
  }
  return all;
}

TEST_CASE("every pair is called in both directions, each once") {
  for (std::uint32_t nodes = 0; nodes <= 130; ++nodes) {
    const auto steps = call_steps(nodes, 128);
    const std::uint32_t expected = nodes < 2 ? 0 : nodes - 1;
    if (nodes <= 129) {
      CAPTURE(nodes);
      CHECK(steps.size() == expected);
      CHECK(calls(nodes, steps).size() == nodes * expected);
    }
    for (const std::uint32_t step : steps) CHECK((step > 0 && step < nodes));
  }
}

TEST_CASE("with more nodes than partners each still calls and is called by as many, both ways") {
  for (const std::uint32_t most : {2U, 4U, 16U, 128U}) {
    for (const std::uint32_t nodes : {most + 2, most + 3, 2 * most + 1, 1000U, 16384U}) {
      CAPTURE(most);
      CAPTURE(nodes);
      const auto steps = call_steps(nodes, most);
      const std::set<std::uint32_t> different(steps.begin(), steps.end());
      CHECK(steps.size() == most);
      CHECK(different.size() == most);
      for (const std::uint32_t step : steps) {
        CHECK((step > 0 && step < nodes));
        CHECK(different.contains(nodes - step));  // the way back
      }
    }
  }
}

TEST_CASE("in every step each node calls one and is called by one") {
  const std::uint32_t nodes = 37;
  for (const std::uint32_t step : call_steps(nodes, 128)) {
    std::set<std::uint32_t> callees;
    for (const auto& [caller, callee] : calls(nodes, {step})) {
      CHECK(caller != callee);
      callees.insert(callee);
    }
    CHECK(callees.size() == nodes);
  }
}

TEST_CASE("the first round has all nodes; of an odd number the first node has two partners") {
  CHECK(first_round(0).empty());
  CHECK(first_round(1).empty());
  CHECK(first_round(2) == std::vector<Pairing>{{0, 1}});
  CHECK(first_round(4) == std::vector<Pairing>{{0, 1}, {2, 3}});
  CHECK(first_round(5) == std::vector<Pairing>{{0, 1}, {2, 3}, {4, 0}});
}

TEST_CASE("the second round has every suspect, with a partner that is no suspect") {
  CHECK(second_round(3, {0, 1, 2}).empty());
  CHECK(second_round(4, {}).empty());
  for (std::uint32_t nodes = 2; nodes < 40; ++nodes) {
    for (std::uint32_t first = 0; first < nodes; ++first) {
      std::vector<std::uint32_t> suspects{first};
      if (first + 2 < nodes) suspects.push_back(first + 2);
      if (suspects.size() >= nodes) continue;
      const auto pairs = second_round(nodes, suspects);
      REQUIRE(pairs.size() == suspects.size());
      for (std::size_t i = 0; i < pairs.size(); ++i) {
        CHECK(pairs[i].caller == suspects[i]);
        CHECK(pairs[i].callee < nodes);
        CHECK(std::ranges::find(suspects, pairs[i].callee) == suspects.end());
        std::set<std::uint32_t> unknown;  // no suspects, nor its partners of the first round
        for (std::uint32_t k = 0; k < nodes; ++k) unknown.insert(k);
        for (const std::uint32_t suspect : suspects) unknown.erase(suspect);
        for (const Pairing& pair : first_round(nodes)) {
          if (pair.caller == suspects[i]) unknown.erase(pair.callee);
          if (pair.callee == suspects[i]) unknown.erase(pair.caller);
        }
        if (!unknown.empty()) CHECK(unknown.contains(pairs[i].callee));
      }
    }
  }
}

}  // namespace
}  // namespace robustrun::supervisor::preflight_plan_test
