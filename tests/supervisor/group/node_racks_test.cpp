#include "supervisor/group/node_racks.h"

#include <doctest/doctest.h>

namespace robustrun::supervisor::node_racks_test {
namespace {

topo::Cluster two_leaves() {
  topo::Cluster cluster = topo::flat_cluster({"n1", "n2", "n3"});
  cluster.levels.front().switches = {{"leaf1", 0}, {"leaf2", 0}};
  cluster.leaf_of = {0, 0, 1};
  return cluster;
}

TEST_CASE("a node's rack is the one that is named, or the switch above it") {
  topo::Cluster cluster = two_leaves();
  cluster.nodes[2].rack = "r7";
  const NodeRacks racks(cluster);
  CHECK(racks.of("n1") == "leaf1");
  CHECK(racks.of("n3") == "r7");
  CHECK(racks.of("elsewhere").empty());
}

TEST_CASE("one rack for all nodes tells nothing; neither does a broken description") {
  CHECK(NodeRacks(topo::flat_cluster({"n1", "n2"})).of("n1").empty());
  CHECK(NodeRacks(topo::Cluster{}).of("n1").empty());
  topo::Cluster broken = two_leaves();
  broken.leaf_of.pop_back();
  CHECK(NodeRacks(broken).of("n1").empty());
}

}  // namespace
}  // namespace robustrun::supervisor::node_racks_test
