// Groups that reach beyond a switch.
#include "topo/picture/crossings.h"

#include <doctest/doctest.h>

namespace robustrun::topo::crossings_test {

TEST_CASE("a group crosses the switches that it has members below and beyond") {
  Cluster cluster;
  cluster.nodes.resize(4);
  cluster.leaf_of = {0, 0, 1, 2};
  cluster.levels = {{"leaf", 0, {{"a", 0}, {"b", 0}, {"c", 1}}}, {"pod", 0, {{"x"}, {"y"}}}};
  // Two ranks on each node; pp: places 0 and 1, 2 and 3; dp: 0 and 2, 1 and 3, each twice.
  const auto shape = make_shape({.tp = 1, .dp = 4, .pp = 2}, {2, 2, 2, 2});
  REQUIRE(shape);
  const auto family = [&](GroupKind kind) -> const Family& {
    for (const Family& one : shape->families) {
      if (one.kind == kind) return one;
    }
    FAIL("no such family");
    return shape->families.front();
  };
  const std::vector<NodeIndex> nodes = {0, 1, 2, 3};
  std::uint32_t total = 0;
  for (const GroupKind kind : {GroupKind::kDp, GroupKind::kPp}) {
    const auto counts = crossings(cluster, family(kind), nodes);
    REQUIRE(counts.size() == 2);
    REQUIRE(counts[0].size() == 3);
    for (std::size_t level = 0; level < 2; ++level) {
      for (const Crossing& one : counts[level]) {
        CHECK(one.beyond <= one.groups);
        total += one.groups;
      }
    }
  }
  CHECK(total > 0);
  // dp groups of ranks 0 to 3 and 4 to 7: places 0 and 1 are below one leaf, 2 and 3 are not.
  const auto dp = crossings(cluster, family(GroupKind::kDp), nodes);
  CHECK(dp[0][0].groups == 1);
  CHECK(dp[0][0].beyond == 0);
  CHECK(dp[0][1].beyond == 1);
  CHECK(dp[1][0].groups == 2);
  CHECK(dp[1][0].beyond == 1);
  CHECK(dp[1][1].beyond == 1);
  // pp groups join rank r and r + 4: place 0 with 2, 1 with 3, two groups each.
  const auto pp = crossings(cluster, family(GroupKind::kPp), nodes);
  CHECK(pp[0][0].groups == 4);
  CHECK(pp[0][0].beyond == 4);
  CHECK(pp[0][2].groups == 2);
  CHECK(pp[1][0].beyond == 2);
}

}  // namespace robustrun::topo::crossings_test
