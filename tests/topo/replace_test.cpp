#include "topo/spares/replace.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/topo/drawn.h"

namespace replace_test {

using namespace robustrun;
using namespace robustrun::topo;
using drawn::cluster_of;
using drawn::Draw;

namespace {

// A placed job, and the problem after `gone` were lost.
Problem after_loss(Problem problem, const std::vector<PlaceIndex>& gone) {
  problem.former = place(problem)->nodes;
  for (const PlaceIndex place : gone) std::erase(problem.candidates, problem.former[place]);
  return problem;
}

}  // namespace

TEST_CASE(
    "under never no survivor moves, and each vacant place gets a newcomer while there are any") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    const Cluster cluster = cluster_of(drawn::draw_minipods(draw, 6, 20), draw(0, 1) * 4);
    const Problem whole = drawn::draw_problem(draw, cluster);
    std::vector<PlaceIndex> gone;
    for (std::uint32_t i = draw(1, 3); i > 0; --i) gone.push_back(draw(0, whole.places - 1));
    std::ranges::sort(gone);
    gone.erase(std::ranges::unique(gone).begin(), gone.end());
    const Problem problem = after_loss(whole, gone);
    const auto result = replace(problem, Rerank::kNever, {});
    REQUIRE(result);
    CHECK(result->moved.empty());
    std::size_t vacant = 0;
    for (PlaceIndex place = 0; place < problem.places; ++place) {
      if (std::ranges::find(gone, place) == gone.end()) {
        CHECK(result->nodes[place] == problem.former[place]);
      } else if (result->nodes[place] == kNoNode) {
        ++vacant;
      } else {
        CHECK(std::ranges::find(problem.candidates, result->nodes[place]) !=
              problem.candidates.end());
        CHECK(std::ranges::count(result->nodes, result->nodes[place]) == 1);
      }
    }
    const std::size_t newcomers = problem.candidates.size() - (problem.places - gone.size());
    CHECK(vacant == gone.size() - std::min(gone.size(), newcomers));

    Problem shuffled = problem;
    draw.shuffle(shuffled.candidates);
    CHECK(replace(shuffled, Rerank::kNever, {})->nodes == result->nodes);
  }
}

TEST_CASE("one place: no other newcomer costs less") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    const Cluster cluster = cluster_of(drawn::draw_minipods(draw, 6, 12), 4);
    const Problem whole = drawn::draw_problem(draw, cluster);
    const PlaceIndex lost = draw(0, whole.places - 1);
    const Problem problem = after_loss(whole, {lost});
    const auto result = replace(problem, Rerank::kNever, {});
    REQUIRE(result);
    if (result->nodes[lost] == kNoNode) continue;
    const auto shape = make_shape(
        problem.parallel, std::vector<std::uint32_t>(problem.places, cluster.nodes[0].slots));
    // The sum over the groups through the place, taken from the whole placement.
    const auto sum = [&](NodeIndex node) {
      std::vector<NodeIndex> nodes = result->nodes;
      nodes[lost] = node;
      std::int64_t total = 0;
      const auto spreads = score(cluster, *shape, problem.objective, nodes).spreads;
      for (const Spread& spread : spreads) {
        total += problem.objective.kinds.of(spread.kind) * problem.objective.levels[spread.level] /
                 kWhole * static_cast<std::int64_t>(spread.sum);
      }
      return total;
    };
    const std::int64_t taken = sum(result->nodes[lost]);
    for (const NodeIndex node : problem.candidates) {
      if (std::ranges::find(result->nodes, node) != result->nodes.end()) continue;
      CHECK(taken <= sum(node));
    }
  }
}

TEST_CASE("the spare of the same switch is taken, and the reason says so") {
  const Cluster cluster = cluster_of({4, 4, 4}, 0);
  Parallel parallel;
  parallel.pp = 3;
  parallel.tp = 8;
  Problem problem = drawn::problem_of(cluster, 9, parallel, 30);
  problem.former = {0, 4, 8, 1, 5, 9, 2, 6, 10};
  problem.candidates = {0, 1, 2, 3, 4, 6, 7, 8, 9, 10, 11};  // without 5: n6, below pod1
  const auto result = replace(problem, Rerank::kNever, {});
  REQUIRE(result);
  CHECK(result->nodes[4] == 7);
  CHECK(result->filled == std::vector<PlaceIndex>{4});
  CHECK(result->why == "n8 takes the place of n6: both are below minipod pod1");
}

TEST_CASE("a place that was never held takes a newcomer of any size") {
  Cluster cluster = cluster_of({2, 2}, 0);
  Parallel parallel;
  parallel.tp = 8;
  Problem problem = drawn::problem_of(cluster, 3, parallel, 30);
  problem.former = {0, 1, kNoNode};
  const auto result = replace(problem, Rerank::kNever, {});
  REQUIRE(result);
  CHECK(result->nodes == std::vector<NodeIndex>{0, 1, 2});
}

TEST_CASE("survivors move only if they may, and only if it pays") {
  // Rows of two; the newcomer is in the minipod of the second row, and that has no room for another
  // node: a survivor of the second row can only be spared if it goes to the first.
  const Cluster cluster = cluster_of({3, 4}, 0);
  Parallel parallel;
  parallel.pp = 2;
  parallel.tp = 8;
  Problem problem = drawn::problem_of(cluster, 4, parallel, 0);  // pp alone counts
  problem.former = {0, 1, 3, 4};  // rows {0, 3} and {1, 4}: both are divided
  problem.candidates = {1, 2, 3, 4, 5};  // n1 is gone, n3 and n6 are new
  const auto never = replace(problem, Rerank::kNever, {});
  REQUIRE(never);
  CHECK(never->moved.empty());
  CHECK(never->nodes == std::vector<NodeIndex>{5, 1, 3, 4});  // row 0 is whole now, row 1 is not
  MovingCosts cheap;
  cheap.seconds_per_move = 1;
  const auto all = replace(problem, Rerank::kAll, cheap);
  REQUIRE(all);
  CHECK(all->after.worst == 0);
  CHECK(!all->moved.empty());
  MovingCosts dear;
  dear.seconds_per_move = 1e9;
  for (const Rerank rerank : {Rerank::kNodes, Rerank::kAll}) {
    const auto stays = replace(problem, rerank, dear);
    REQUIRE(stays);
    CHECK(stays->moved.empty());
    CHECK(stays->nodes == never->nodes);
  }
  problem.former = {1, 2, 3, 4};  // all nodes are here, and both rows are divided
  const auto only_moves = replace(problem, Rerank::kAll, cheap);
  REQUIRE(only_moves);
  CHECK(only_moves->after.worst == 0);
  CHECK(only_moves->why == "2 nodes move");
}

TEST_CASE("modes are read by name") {
  CHECK(*parse_rerank("never") == Rerank::kNever);
  CHECK(*parse_rerank("nodes") == Rerank::kNodes);
  CHECK(*parse_rerank("all") == Rerank::kAll);
  CHECK(!parse_rerank("some"));
}

}  // namespace replace_test
