#include "supervisor/core/job/facts/group_choice.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "base/core/clock.h"

namespace robustrun::supervisor::group_choice_test {
namespace {

constexpr Candidate kHere{Presence::kThere, 1, 0};
constexpr Candidate kComing{Presence::kComing, 1, 0};
constexpr Candidate kLost{Presence::kAbsent, 1, 1};

std::vector<base::NodeId> ids(std::initializer_list<std::uint32_t> numbers) {
  std::vector<base::NodeId> nodes;
  for (const std::uint32_t number : numbers) nodes.push_back({number});
  return nodes;
}

TEST_CASE("a node that is there keeps its place, a newcomer gets the vacant one") {
  const auto choice = choose_group(ids({0, 1, 2}), {kHere, kLost, kHere, kHere, kHere}, 3);
  CHECK(choice.members == ids({0, 3, 2}));
  CHECK(choice.newcomers == ids({3}));
  CHECK_FALSE(choice.any_coming);
}

TEST_CASE("a complete group takes no more nodes") {
  const auto choice = choose_group(ids({2, 0}), {kHere, kHere, kHere}, 2);
  CHECK(choice.members == ids({2, 0}));
  CHECK(choice.newcomers.empty());
}

TEST_CASE("vacant places that no node takes are closed up") {
  CHECK(choose_group(ids({0, 1, 2}), {kLost, kHere, kHere}, 3).members == ids({1, 2}));
  CHECK(choose_group(ids({0, 1, 2}), {kLost, kLost, kHere, kHere}, 3).members == ids({3, 2}));
  CHECK(choose_group(ids({0}), {kLost}, 1).members.empty());
}

TEST_CASE("a smaller group grows at its end") {
  const auto choice = choose_group(ids({0, 2}), {kHere, kHere, kHere, kHere}, 3);
  CHECK(choice.members == ids({0, 2, 1}));
  CHECK(choice.newcomers == ids({1}));
  CHECK(choose_group({}, {kComing, kHere, kHere}, 4).members == ids({1, 2}));
}

TEST_CASE("the node that was lost least often comes first") {
  std::vector<Candidate> nodes = {kLost, kHere, kHere, kHere};
  nodes[1].losses = 2;
  nodes[2].losses = 1;
  nodes[3].losses = 1;
  CHECK(choose_group(ids({0}), nodes, 1).members == ids({2}));
}

TEST_CASE("a place goes to a node of its size if there is one") {
  std::vector<Candidate> nodes = {kLost, kLost, kHere, kHere, kHere};
  nodes[0].slots = 4;
  nodes[1].slots = 2;
  nodes[3].slots = 2;
  nodes[4].slots = 4;
  nodes[4].losses = 7;
  CHECK(choose_group(ids({0, 1}), nodes, 2).members == ids({4, 3}));
  nodes[1].slots = 8;
  CHECK(choose_group(ids({0, 1}), nodes, 2).members == ids({4, 2}));
}

TEST_CASE("only a node of the group that was lost once is worth waiting for") {
  std::vector<Candidate> nodes = {kHere, kComing, kHere, kComing};
  const auto coming = [&](std::initializer_list<std::uint32_t> former) {
    return choose_group(ids(former), nodes, 2).rightful_coming;
  };
  CHECK(coming({0, 1}));
  CHECK_FALSE(coming({0, 2}));
  CHECK(choose_group(ids({0, 2}), nodes, 2).any_coming);
  nodes[1].losses = 1;
  CHECK(coming({0, 1}));
  nodes[1].losses = 2;
  CHECK_FALSE(coming({0, 1}));
  CHECK(choose_group(ids({0, 1}), nodes, 2).any_coming);
}

TEST_CASE(
    "whatever nodes are lost, the group is as large as possible and survivors keep their order") {
  base::Rng rng(4711);
  for (int round = 0; round < 2000; ++round) {
    CAPTURE(round);
    const auto max = static_cast<std::uint32_t>(1 + rng.below(6));
    std::vector<Candidate> nodes(1 + rng.below(10));
    std::vector<base::NodeId> former;
    std::size_t there = 0;
    for (std::uint32_t i = 0; i < nodes.size(); ++i) {
      nodes[i] = {static_cast<Presence>(rng.below(3)), static_cast<std::uint32_t>(rng.below(3)),
                  static_cast<std::uint32_t>(rng.below(4))};
      if (nodes[i].presence == Presence::kThere) ++there;
      if (former.size() < max && rng.below(2) == 0) former.push_back({i});
    }
    std::ranges::rotate(former, former.begin() + static_cast<std::ptrdiff_t>(former.size() / 2));
    const GroupChoice choice = choose_group(former, nodes, max);
    CHECK(choice.members.size() == std::min<std::size_t>(there, max));
    std::set<std::uint32_t> seen;
    for (const base::NodeId node : choice.members) {
      CHECK(nodes[node.value].presence == Presence::kThere);
      CHECK(seen.insert(node.value).second);
    }
    std::vector<base::NodeId> survivors, stayed;
    for (std::size_t i = 0; i < former.size(); ++i) {
      if (nodes[former[i].value].presence != Presence::kThere) continue;
      survivors.push_back(former[i]);
      if (choice.members.size() >= former.size()) CHECK(choice.members[i] == former[i]);
    }
    for (const base::NodeId node : choice.members) {
      const bool is_new = std::ranges::find(former, node) == former.end();
      CHECK(is_new == (std::ranges::find(choice.newcomers, node) != choice.newcomers.end()));
      if (!is_new) stayed.push_back(node);
    }
    CHECK(stayed == survivors);
  }
}

}  // namespace
}  // namespace robustrun::supervisor::group_choice_test
