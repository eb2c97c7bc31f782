// From the core's question to topo/ and back.
#include "supervisor/group/placer.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

namespace robustrun::supervisor::placer_test {
namespace {

using Nodes = std::vector<std::uint32_t>;

// Two switches: n0, n2, n4 … below the first, n1, n3, n5 … below the second.
topo::Cluster two_switches(std::uint32_t nodes) {
  topo::Cluster cluster;
  cluster.source = "cluster.toml";
  cluster.levels = {{"leaf", 0, {{"even", 0}, {"odd", 0}}}};
  for (std::uint32_t i = 0; i < nodes; ++i) {
    cluster.nodes.push_back({"n" + std::to_string(i), 0, {}, {}, {}});
    cluster.leaf_of.push_back(i % 2);
  }
  return cluster;
}

PlacementRequest request_for(std::uint32_t nodes, std::uint32_t pp = 1) {
  PlacementRequest request;
  request.enabled = true;
  request.cluster = two_switches(nodes);
  request.parallel.pp = pp;
  request.objective.levels = default_level_weights(request.cluster);
  request.objective.kinds.of_kind = {0, 0, 0, topo::kWhole / 2, topo::kWhole / 2};
  return request;
}

PlacementNode node(std::uint32_t id, std::uint32_t slots = 1) {
  return {{id}, "n" + std::to_string(id), slots};
}

SolvePlacement question(const Nodes& candidates, std::uint32_t places) {
  SolvePlacement asked{77, {}, {}, {}, places};
  for (const std::uint32_t id : candidates) asked.candidates.push_back(node(id));
  return asked;
}

Nodes members(const PlacementSolved& solved) {
  Nodes ids;
  for (const base::NodeId id : solved.members) ids.push_back(id.value);
  return ids;
}

bool all_below_one_switch(const Nodes& nodes) {
  return std::ranges::all_of(nodes, [&](std::uint32_t id) { return id % 2 == nodes[0] % 2; });
}

TEST_CASE("the first group is below one switch where that has enough of them") {
  Placer placer(request_for(8));
  const PlacementSolved solved = placer.solve(question({0, 1, 2, 3, 4, 5, 6, 7}, 4));
  CHECK(solved.digest == 77);
  const Nodes chosen = members(solved);
  CHECK(std::set(chosen.begin(), chosen.end()).size() == 4);
  CHECK(all_below_one_switch(chosen));
  CHECK(solved.text.starts_with("4 of 8 nodes are placed by cluster.toml: "));
  CHECK_FALSE(solved.evidence.empty());
  REQUIRE(solved.alternatives.size() == 1);
  CHECK(solved.alternatives[0].starts_with("in the order of the nodes: weighted spread "));
}

TEST_CASE("an order that was planned is told as such, and rank 0 stays where the user wants it") {
  PlacementRequest request = request_for(8);
  request.how = "as one wishes";
  request.natural_cost = 2 * topo::kWhole;
  request.cluster = restrict_to(request.cluster, {"n0", "n2", "n4", "n6", "n1", "n3"}).value();
  Placer placer(request);
  SolvePlacement asked = question({}, 4);
  const std::vector<std::string> names = {"n0", "n2", "n4", "n6", "n1", "n3"};
  for (std::uint32_t i = 0; i < names.size(); ++i) asked.candidates.push_back({{i}, names[i], 1});
  const PlacementSolved solved = placer.solve(asked);
  CHECK(members(solved) == Nodes{0, 1, 2, 3});
  CHECK(solved.text ==
        "4 of 6 nodes are placed by cluster.toml: as one wishes; weighted spread 0 (2 in natural "
        "order), nothing better exists");
  CHECK(solved.alternatives.empty());
  request.first = "n4";
  const Nodes with_first = members(Placer(request).solve(asked));
  REQUIRE(with_first.size() == 4);
  CHECK(with_first.front() == 2);
  request.first = "n3";  // below the other switch: it is wanted all the same
  CHECK(members(Placer(request).solve(asked)).front() == 5);
}

TEST_CASE("nodes are found by name, whatever their number") {
  Placer placer(request_for(8));
  SolvePlacement asked = question({}, 2);
  asked.candidates = {{{40}, "n1", 2}, {{41}, "n2", 2}, {{42}, "n3", 2}};
  const PlacementSolved solved = placer.solve(asked);
  const Nodes chosen = members(solved);
  REQUIRE(chosen.size() == 2);
  CHECK(std::set(chosen.begin(), chosen.end()) == std::set<std::uint32_t>{40, 42});
}

TEST_CASE("the node for place 0 gets it, if it is there") {
  PlacementRequest request = request_for(8);
  request.first = "n4";
  Placer placer(request);
  const Nodes chosen = members(placer.solve(question({0, 1, 2, 3, 4, 5, 6, 7}, 4)));
  REQUIRE(chosen.size() == 4);
  CHECK(chosen[0] == 4);
  CHECK(all_below_one_switch(chosen));
  CHECK(members(placer.solve(question({0, 1, 2, 6}, 4))).size() == 4);
}

TEST_CASE("a spare of the same switch takes the place, and no other node moves") {
  Placer placer(request_for(8));
  SolvePlacement asked = question({0, 2, 1, 3, 6}, 3);
  asked.former = {node(0), node(4), node(2)};
  const PlacementSolved solved = placer.solve(asked);
  CHECK(members(solved) == Nodes{0, 6, 2});
  CHECK_FALSE(solved.text.empty());
}

TEST_CASE("a place without a former node, or with an unknown one, is filled") {
  Placer placer(request_for(8));
  SolvePlacement asked = question({0, 2, 4, 6}, 4);
  asked.former = {node(0), {{90}, "gone and never known", 1}, node(2), {}};
  const Nodes chosen = members(placer.solve(asked));
  REQUIRE(chosen.size() == 4);
  CHECK(chosen[0] == 0);
  CHECK(chosen[2] == 2);
  CHECK(std::set(chosen.begin(), chosen.end()).size() == 4);
}

TEST_CASE("what cannot be placed has no members, and a reason") {
  const auto reason = [](Placer placer, const SolvePlacement& asked) {
    const PlacementSolved solved = placer.solve(asked);
    CHECK(solved.digest == 77);
    CHECK(solved.members.empty());
    return solved.text;
  };
  SUBCASE("a node that the topology does not have") {
    SolvePlacement asked = question({0, 1}, 2);
    asked.candidates[1].name = "guest";
    CHECK(reason(Placer(request_for(8)), asked) == "cannot find guest in cluster.toml");
  }
  SUBCASE("two of the same name") {
    SolvePlacement asked = question({0, 1}, 2);
    asked.candidates[1].name = "n0";
    CHECK(reason(Placer(request_for(8)), asked) == "there are two nodes named n0");
  }
  SUBCASE("sizes that do not divide the world") {
    CHECK_FALSE(reason(Placer(request_for(8, 3)), question({0, 1, 2, 3}, 4)).empty());
  }
  SUBCASE("nor do they after a loss") {
    SolvePlacement asked = question({0, 2, 4}, 3);
    asked.former = {node(0), node(2), node(4)};
    CHECK_FALSE(reason(Placer(request_for(8, 2)), asked).empty());
  }
  SUBCASE("a node without workers") {
    SolvePlacement asked = question({0, 1}, 2);
    asked.candidates[0].slots = 0;
    CHECK(reason(Placer(request_for(8)), asked) == "n0 offers no worker");
  }
  SUBCASE("a saved request that was damaged") {
    PlacementRequest request = request_for(8);
    request.cluster.leaf_of[3] = 9;
    CHECK(reason(Placer(request), question({0, 1}, 2)) ==
          "what is known of the network contradicts itself");
    request = request_for(8);
    request.objective.levels.clear();
    CHECK_FALSE(reason(Placer(request), question({0, 1}, 2)).empty());
  }
}

TEST_CASE("the core is told what it needs to know") {
  PlacementRequest request;
  CHECK(placement_use(request) == PlacementUse::kOff);
  request.enabled = true;
  CHECK(placement_use(request) == PlacementUse::kSurvivorsStay);
  request.rerank = topo::Rerank::kNodes;
  CHECK(placement_use(request) == PlacementUse::kSurvivorsMayMove);
}

}  // namespace
}  // namespace robustrun::supervisor::placer_test
