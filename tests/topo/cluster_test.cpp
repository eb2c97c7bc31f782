#include "topo/network/cluster.h"

#include <doctest/doctest.h>

#include "tests/topo/drawn.h"
#include "topo/network/nvl_domains.h"

namespace cluster_test {

using namespace robustrun;
using namespace robustrun::topo;
using drawn::cluster_of;

TEST_CASE("the cluster of some hosts has their order, and no switch without them") {
  const Cluster cluster = cluster_of({5, 5, 5}, 2);
  const auto part = restrict_to(cluster, {"n12", "n1", "n2"});
  REQUIRE(part);
  CHECK(is_consistent(*part));
  CHECK(part->nodes[0].name == "n12");
  CHECK(part->levels[0].switches.size() == 2);
  REQUIRE(part->levels[1].switches.size() == 2);
  CHECK(part->levels[1].switches[switch_of(*part, 0, 1)].name == "pod2");
  CHECK(part->levels[1].switches[switch_of(*part, 2, 1)].name == "pod0");
  CHECK(switches_by_level(*part)[1] == std::vector<std::uint32_t>{0, 1, 1});
}

TEST_CASE(
    "a host that is not in the topology, or twice among the hosts, is an error with its name") {
  const Cluster cluster = cluster_of({3}, 0);
  const auto unknown = restrict_to(cluster, {"n1", "n33"});
  REQUIRE(!unknown);
  CHECK(
      unknown.error().what ==
      "cannot find host 'n33' in a drawn cluster (did you mean 'n3'?); add it there, or leave the "
      "topology out");
  const auto twice = restrict_to(cluster, {"n1", "n2", "n1"});
  REQUIRE(!twice);
  CHECK(twice.error().what == "cannot place host 'n1': it is named twice");
}

TEST_CASE("hosts without a topology are below one switch, which divides nothing") {
  const Cluster cluster = flat_cluster({"a", "b"});
  CHECK(is_consistent(cluster));
  CHECK(!has_structure(cluster));
  CHECK(has_structure(cluster_of({1, 1}, 0)));
}

TEST_CASE("inconsistent indices are detected") {
  Cluster cluster = cluster_of({2, 2}, 1);
  CHECK(is_consistent(cluster));
  cluster.leaf_of[0] = 4;
  CHECK(!is_consistent(cluster));
  cluster = cluster_of({2, 2}, 1);
  cluster.levels[0].switches[1].parent = 2;
  CHECK(!is_consistent(cluster));
  cluster = cluster_of({2, 2}, 1);
  cluster.leaf_of.pop_back();
  CHECK(!is_consistent(cluster));
  cluster.levels.clear();
  CHECK(!is_consistent(cluster));
}

TEST_CASE("NVLink domains become the lowest level if they are smaller than leaves") {
  Cluster cluster = cluster_of({4, 4}, 4);
  for (const NodeIndex node : {0, 1}) cluster.nodes[node].nvl_domain = "a";
  for (const NodeIndex node : {4, 5, 6}) cluster.nodes[node].nvl_domain = "b";
  const Cluster with = with_nvl_domains(cluster);
  CHECK(is_consistent(with));
  REQUIRE(with.levels.size() == 3);
  CHECK(with.levels[0].name == "nvl");
  CHECK(with.levels[0].switches.size() == 5);  // a, b, and three machines on their own
  CHECK(switch_of(with, 0, 0) == switch_of(with, 1, 0));
  CHECK(switch_of(with, 2, 0) != switch_of(with, 3, 0));
  for (NodeIndex node = 0; node < 8; ++node) {
    CHECK(switch_of(with, node, 1) == switch_of(cluster, node, 0));
  }
}

TEST_CASE("NVLink domains of whole leaves come between leaves and minipods") {
  Cluster cluster = cluster_of({8}, 2);
  for (NodeIndex node = 0; node < 8; ++node) {
    cluster.nodes[node].nvl_domain = node < 4 ? "a" : "b";
  }
  const Cluster with = with_nvl_domains(cluster);
  CHECK(is_consistent(with));
  REQUIRE(with.levels.size() == 3);
  CHECK(with.levels[1].name == "nvl");
  CHECK(switch_of(with, 3, 1) == 0);
  CHECK(switch_of(with, 4, 1) == 1);
  CHECK(switch_of(with, 4, 2) == 0);
}

TEST_CASE("NVLink domains that overlap with switches are left out") {
  Cluster cluster = cluster_of({4, 4}, 0);
  for (const NodeIndex node : {3, 4}) cluster.nodes[node].nvl_domain = "across";
  CHECK(with_nvl_domains(cluster).levels.size() == 1);
  CHECK(with_nvl_domains(cluster_of({2}, 1)).levels.size() == 2);
}

}  // namespace cluster_test
