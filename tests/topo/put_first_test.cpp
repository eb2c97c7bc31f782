#include "topo/spares/put_first.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "tests/topo/pods.h"

namespace robustrun::topo::put_first_test {
namespace {

using testing::pods_cluster;
using testing::problem_of;

std::set<NodeIndex> all_of(const Placement& placement) {
  std::set<NodeIndex> all(placement.nodes.begin(), placement.nodes.end());
  all.insert(placement.spares.begin(), placement.spares.end());
  return all;
}

TEST_CASE("the wanted node comes first, and no group becomes wider") {
  const Cluster cluster = pods_cluster(3, 4, 2);
  for (const char* parallel :
       {"tp=2,pp=4", "tp=2,pp=3,dp=8", "tp=2,cp=2,pp=4", "pp=8,dp=6", "tp=2,ep=4,pp=2"}) {
    CAPTURE(parallel);
    const Problem problem = problem_of(cluster, parallel, 24, 0);
    const Placement before = place(problem).value();
    for (NodeIndex node = 0; node < 24; ++node) {
      const Placement after = put_first(problem, before, node).value();
      CHECK(after.nodes.front() == node);
      CHECK(after.score.cost == before.score.cost);
      CHECK(all_of(after).size() == 24);
      CHECK(after.method == before.method);
    }
  }
}

TEST_CASE("a spare that shall come first takes the place of the nearest node") {
  const Cluster cluster = pods_cluster(3, 4, 2);
  const Problem problem = problem_of(cluster, "tp=2,pp=4", 16, 2);
  const Placement before = place(problem).value();
  REQUIRE(before.spares.size() == 2);
  const NodeIndex spare = before.spares.front();
  const Placement after = put_first(problem, before, spare).value();
  CHECK(after.nodes.front() == spare);
  CHECK(after.spares.size() == 2);
  CHECK(std::ranges::find(after.spares, spare) == after.spares.end());
  CHECK(all_of(after) == all_of(before));
  // An unused node only takes a place.
  NodeIndex idle = 0;
  while (all_of(before).contains(idle)) ++idle;
  const Placement with_idle = put_first(problem, before, idle).value();
  CHECK(with_idle.nodes.front() == idle);
  CHECK(with_idle.spares == before.spares);
}

TEST_CASE("if nodes end within groups, two nodes change places, and the cost is updated") {
  const Cluster cluster = pods_cluster(2, 3, 3);
  const Problem problem = problem_of(cluster, "tp=2,pp=3", 12, 0);
  const Placement before = place(problem).value();
  const NodeIndex last = before.nodes.back();
  const Placement after = put_first(problem, before, last).value();
  CHECK(after.nodes.front() == last);
  CHECK(after.score.cost == score(cluster, after.shape, problem.objective, after.nodes).cost);
  if (after.score.cost.worst > after.bound.worst) CHECK(after.method == Method::kHeuristic);
}

TEST_CASE("if the node is first already, nothing changes") {
  const Cluster cluster = pods_cluster(2, 4, 2);
  const Problem problem = problem_of(cluster, "tp=2,pp=4", 16, 0);
  const Placement before = place(problem).value();
  const Placement after = put_first(problem, before, before.nodes.front()).value();
  CHECK(after.nodes == before.nodes);
  CHECK(after.how == before.how);
}

}  // namespace
}  // namespace robustrun::topo::put_first_test
