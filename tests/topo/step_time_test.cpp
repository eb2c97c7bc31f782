#include "topo/network/step_time.h"

#include <doctest/doctest.h>

namespace robustrun::topo::step_time_test {
namespace {

// Nodes 0 to 3 in leaves 0 0 1 1, all below one core.
Cluster two_leaves(double leaf_gbps) {
  Cluster cluster;
  for (const char* name : {"a", "b", "c", "d"}) cluster.nodes.emplace_back().name = name;
  cluster.leaf_of = {0, 0, 1, 1};
  cluster.levels = {{"leaf", leaf_gbps, {{"l0", 0}, {"l1", 0}}}, {"core", 0, {{"c0", 0}}}};
  return cluster;
}

Shape shape_of(std::string_view parallel, std::vector<std::uint32_t> slots) {
  return make_shape(parse_parallel(parallel).value(), std::move(slots)).value();
}

Traffic traffic(std::string_view text) { return parse_traffic(text).value(); }

TEST_CASE("a ring below one switch costs nothing, across two its bytes over the link") {
  const Cluster cluster = two_leaves(8);  // a gigabyte per second
  const Shape pair = shape_of("dp=2", {1, 1});
  const std::vector<NodeIndex> near = {0, 1};
  const std::vector<NodeIndex> far = {0, 2};
  CHECK(step_seconds(cluster, pair, traffic("dp=1GB"), near) == 0);
  // There and back, both directions at once.
  CHECK(step_seconds(cluster, pair, traffic("dp=1GB"), far) == doctest::Approx(1));
}

TEST_CASE("the order of a ring decides how often it crosses") {
  const Cluster cluster = two_leaves(8);
  const Shape ring = shape_of("dp=4", {1, 1, 1, 1});
  const std::vector<NodeIndex> grouped = {0, 1, 2, 3};
  const std::vector<NodeIndex> mixed = {0, 2, 1, 3};
  CHECK(step_seconds(cluster, ring, traffic("dp=1GB"), grouped) == doctest::Approx(1));
  CHECK(step_seconds(cluster, ring, traffic("dp=1GB"), mixed) == doctest::Approx(2));
}

TEST_CASE("a chain carries half its bytes each way") {
  const Cluster cluster = two_leaves(8);
  const Shape chain = shape_of("dp=1,pp=2", {1, 1});
  const std::vector<NodeIndex> far = {0, 2};
  CHECK(step_seconds(cluster, chain, traffic("pp=1GB"), far) == doctest::Approx(0.5));
}

TEST_CASE("all ranks of a node use its link") {
  const Cluster cluster = two_leaves(8);
  const Shape eight = shape_of("tp=8,dp=2", {8, 8});
  const std::vector<NodeIndex> far = {0, 2};
  CHECK(step_seconds(cluster, eight, traffic("dp=1GB"), far) == doctest::Approx(8));
}

TEST_CASE("kinds follow one another") {
  const Cluster cluster = two_leaves(8);
  const Shape both = shape_of("dp=2,pp=2", {1, 1, 1, 1});  // dp: 0 1, 2 3; pp: 0 2, 1 3
  const std::vector<NodeIndex> nodes = {0, 2, 1, 3};  // dp crosses twice, pp does not
  CHECK(step_seconds(cluster, both, traffic("dp=1GB,pp=1GB"), nodes) == doctest::Approx(2));
  const std::vector<NodeIndex> other = {0, 1, 2, 3};  // pp crosses twice, half each way
  CHECK(step_seconds(cluster, both, traffic("dp=1GB,pp=1GB"), other) == doctest::Approx(1));
}

TEST_CASE("the slowest level decides, and unknown values count nothing") {
  Cluster cluster = two_leaves(8);
  cluster.levels[1].switches.push_back({"c1", 0});
  cluster.levels[0].switches[1].parent = 1;
  cluster.levels[1].gbps = 4;
  const Shape pair = shape_of("dp=2", {1, 1});
  const std::vector<NodeIndex> far = {0, 2};
  CHECK(step_seconds(cluster, pair, traffic("dp=1GB"), far) == doctest::Approx(2));
  cluster.levels[1].gbps = 0;
  CHECK(step_seconds(cluster, pair, traffic("dp=1GB"), far) == doctest::Approx(1));
  CHECK(step_seconds(two_leaves(0), pair, traffic("dp=1GB"), far) == 0);
  CHECK(step_seconds(cluster, pair, {}, far) == 0);
}

}  // namespace
}  // namespace robustrun::topo::step_time_test
