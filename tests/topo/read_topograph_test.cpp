#include "topo/read/topograph.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/topo/fixture.h"
#include "topo/limits.h"

namespace robustrun::topo::read_topograph_test {
namespace {

Cluster read(std::string_view text) {
  return build_cluster(read_topograph(text, "labels").value()).value();
}

std::string error_of(std::string_view text) {
  const auto said = read_topograph(text, "labels");
  if (!said) return said.error().what;
  const auto cluster = build_cluster(*said);
  return cluster ? "no error" : cluster.error().what;
}

std::string row(const std::string& node, const std::string& labels) {
  return node + " Ready <none> 1d v1.31.0 " + labels + "\n";
}

}  // namespace

TEST_CASE("labels of topograph make a tree with domains") {
  const Cluster cluster = read(fixture("labels.txt"));
  CHECK(shown(cluster) ==
        "node101: leaf-1 spine-1 core\nnode102: leaf-1 spine-1 core\n"
        "node201: leaf-2 spine-2 core\nnode202: leaf-3 spine-2 core\n");
  CHECK(cluster.nodes[1].nvl_domain == "nvl-1");
  CHECK(cluster.nodes[2].nvl_domain == "nvl-2");
  CHECK(cluster.nodes[3].nvl_domain == "3b0b5b24.7");
  CHECK(facts(read(fixture("labels-older.txt"))) == facts(cluster));
}

TEST_CASE("the oldest names of labels") {
  const std::string key = "network.topology.kubernetes.io/";
  const Cluster cluster = read(
      row("n1", fmt::format("{0}accelerator=a1,{0}block=s1,{0}spine=s2,{0}datacenter=s3", key)));
  CHECK(shown(cluster) == "n1: s1 s2 s3\n");
  CHECK(cluster.nodes[0].nvl_domain == "a1");
}

TEST_CASE("of two labels for one tier the newer kind counts, in whatever order they come") {
  const std::string kubernetes = "network.topology.kubernetes.io/block=oldest";
  const std::string leaf = "network.topology.nvidia.com/leaf=older";
  const std::string tier = "network.topology.nvidia.com/tier-0=old";
  const std::string fabric = "fabric.topograph.run/tier-0=new";
  CHECK(shown(read(row("n1", kubernetes + "," + leaf))) == "n1: older\n");
  CHECK(shown(read(row("n1", leaf + "," + kubernetes + "," + tier))) == "n1: old\n");
  CHECK(shown(read(row("n1", tier + "," + fabric + "," + leaf))) == "n1: new\n");
}

TEST_CASE("one name on two tiers, and nodes without some tiers") {
  const std::string tier = "fabric.topograph.run/tier-";
  const Cluster cluster =
      read(row("n1", fmt::format("{0}0=a,{0}1=a,{0}2=top", tier)) +
           row("n2", fmt::format("{0}0=b,{0}1=a,{0}2=top", tier)) +
           row("n3", fmt::format("{0}1=a,{0}2=top", tier)) +
           row("n4", fmt::format("{0}2=top,{0}0=", tier)) + row("n5", "<none>"));
  CHECK(shown(cluster) == "n1: a a/1 top\nn3: a/1 a/1 top\nn4: top top top\nn2: b a/1 top\n");
}

TEST_CASE("the order of nodes changes nothing but numbers") {
  check_shuffled(fixture("labels.txt"), [](const std::string& text) { return read(text); }, 1);
}

TEST_CASE("a table of labels is recognised by its heading") {
  CHECK(is_label_table("NAME   STATUS   ROLES    AGE   VERSION   LABELS"));
  CHECK_FALSE(is_label_table("NAME   STATUS   ROLES    AGE   VERSION"));
  CHECK_FALSE(is_label_table("LABELS"));
  CHECK_FALSE(is_label_table(""));
}

TEST_CASE("labels without tiers are refused") {
  CHECK(
      error_of(row("n1", "kubernetes.io/os=linux")).starts_with("cannot use labels: no node has"));
  CHECK(error_of("\n" + row("n1", "v1.31.0"))
            .starts_with("cannot use labels, line 2: 'v1.31.0' is "
                         "not a label"));
  const std::string tier = "fabric.topograph.run/tier-";
  CHECK(error_of(row("n1", tier + "0=a," + tier + "1=b") + row("n2", tier + "0=a," + tier + "1=c"))
            .find("line 2: switch 'a' is below 'c' and 'b' (line 1)") != std::string::npos);
  CHECK(error_of(row("n1", tier + "0=a") + row("n1", tier + "0=b"))
            .find("line 2: node 'n1' is below switch 'b' and 'a' (line 1)") != std::string::npos);
  CHECK(error_of(row("n1", fmt::format("{}{}=a", tier, kLevelsMax))).find("no node has a label") !=
        std::string::npos);
  CHECK(error_of(std::string(kTextBytesMax + 1, ' ')).find("longer than") != std::string::npos);
}

}  // namespace robustrun::topo::read_topograph_test
