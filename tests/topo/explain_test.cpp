#include "topo/picture/explain.h"

#include <doctest/doctest.h>

#include "tests/topo/pods.h"

namespace robustrun::topo::explain_test {
namespace {

using testing::pods_cluster;
using testing::problem_of;

TEST_CASE("a working node: its groups, and the alternatives") {
  const Cluster cluster = pods_cluster(2, 2, 2);
  const Problem problem = problem_of(cluster, "tp=2,pp=2", 6, 1);
  const Placement placement = place(problem).value();
  const std::string text = explain(problem, placement, placement.nodes[1]);
  CAPTURE(text);
  CHECK(text.starts_with(cluster.nodes[placement.nodes[1]].name +
                         " has place 1 (ranks 2-3), below "));
  CHECK(text.find("  dp group 0, 3 nodes\n    pod: ") != std::string::npos);
  CHECK(text.find("  pp group 1, 2 nodes\n    pod: all below pod") != std::string::npos);
  CHECK(text.find("Alternatives:\n  exchange with ") != std::string::npos);
  CHECK(text.find("  spare ") != std::string::npos);
  CHECK(text.find(" tried)") != std::string::npos);
}

TEST_CASE("the predicted cost of an exchange is its real cost") {
  // Two pods of one leaf each: an exchange tears two groups apart.
  Cluster cluster = pods_cluster(2, 2, 1);
  cluster.leaf_of = {0, 0, 0, 0, 2, 2, 2, 2};
  const Problem problem = problem_of(cluster, "pp=4,dp=2", 8, 0);
  const Placement placement = place(problem).value();
  REQUIRE(placement.score.cost.worst == 600'600);  // dp over both pods, and both leaves
  const std::string text = explain(problem, placement, placement.nodes[0]);
  CAPTURE(text);
  CHECK(text.find("exchange with ") != std::string::npos);
  CHECK(text.find("weighted spread 2.002 instead of 0.6006") != std::string::npos);
}

TEST_CASE("a spare and a node that is not used") {
  const Cluster cluster = pods_cluster(2, 4, 2);
  const Problem problem = problem_of(cluster, "tp=2,pp=4", 8, 2);
  const Placement placement = place(problem).value();
  REQUIRE(placement.spares.size() == 2);
  const std::string spare = explain(problem, placement, placement.spares[1]);
  CHECK(spare.find(" is spare 2 of 2, below ") != std::string::npos);
  CHECK(spare.find("Instead of ") != std::string::npos);
  std::vector<bool> used(16, false);
  for (const NodeIndex node : placement.nodes) used[node] = true;
  for (const NodeIndex node : placement.spares) used[node] = true;
  NodeIndex idle = 0;
  while (used[idle]) ++idle;
  const std::string text = explain(problem, placement, idle);
  CHECK(text.find(" is not used, below ") != std::string::npos);
  CHECK(text.find(": there are 8 working nodes and 2 spares.\n") != std::string::npos);
}

TEST_CASE("without structure there is little to say") {
  Cluster flat = flat_cluster({"a", "b"});
  flat.nodes[0].slots = flat.nodes[1].slots = 1;
  const Problem problem = problem_of(flat, "dp=2", 2, 0);
  const Placement placement = place_in_order(problem).value();
  CHECK(explain(problem, placement, 1) ==
        "b has place 1 (rank 1), below the only switch.\n"
        "  dp group 0, 2 nodes\n"
        "Alternatives:\n"
        "  none: no node below another switch can take its place\n");
}

}  // namespace
}  // namespace robustrun::topo::explain_test
