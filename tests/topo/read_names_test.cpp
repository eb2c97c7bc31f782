#include "topo/read/names.h"

#include <doctest/doctest.h>

#include <vector>

#include "tests/topo/shown.h"

namespace robustrun::topo::read_names_test {
namespace {

using Hosts = std::vector<std::string>;

// "rack: node node; rack: ..." or "nothing".
std::string racks(const Hosts& hosts) {
  const auto said = read_names(hosts);
  if (!said) return "nothing";
  std::string text;
  for (const SwitchEntry& rack : said->switches) {
    text += rack.name + ":";
    for (const std::string& node : rack.nodes) text += " " + node;
    text += ";";
  }
  return text;
}

}  // namespace

TEST_CASE("names that show their rack") {
  CHECK(racks({"r1n1", "r1n2", "r2n1"}) == "r1: r1n1 r1n2;r2: r2n1;");
  CHECK(racks({"rack10-node2", "rack2-node1", "rack10-node1"}) ==
        "rack10: rack10-node2 rack10-node1;rack2: rack2-node1;");
  CHECK(racks({"dc1r07n3.example.org", "dc1r07n4.example.org", "dc1r08n3.example.org"}) ==
        "dc1r07: dc1r07n3.example.org dc1r07n4.example.org;dc1r08: dc1r08n3.example.org;");
  CHECK(racks({"gpu-a12-03", "gpu-a12-04", "gpu-a13-03"}) ==
        "gpu-a12: gpu-a12-03 gpu-a12-04;gpu-a13: gpu-a13-03;");
}

TEST_CASE("names that show no rack") {
  CHECK(racks({}) == "nothing");
  CHECK(racks({"h1", "h2", "h3"}) == "nothing");
  CHECK(racks({"node07", "node08"}) == "nothing");
  CHECK(racks({"localhost", "login"}) == "nothing");
  CHECK(racks({"r1", "r2"}) == "nothing");
  // One rack, or each its own.
  CHECK(racks({"r1n1", "r1n2"}) == "nothing");
  CHECK(racks({"r1n1", "r2n1"}) == "nothing");
  CHECK(racks({"h100-node1", "h100-node2"}) == "nothing");
  // Different patterns.
  CHECK(racks({"r1n1", "r1n2", "r2n1", "login1"}) == "nothing");
  CHECK(racks({"a100-1", "a100-2", "h100-1"}) == "nothing");
  // Addresses.
  CHECK(racks({"10.0.1.1", "10.0.1.2", "10.0.2.1"}) == "nothing");
  CHECK(racks({"ip-10-0-3-17", "ip-10-0-3-18", "ip-10-0-4-1"}) == "nothing");
  CHECK(racks({"1-1", "1-2", "2-1"}) == "nothing");
}

TEST_CASE("the source names the rule, and racks are labels, too") {
  const Hosts hosts = {"r2n1", "r1n1", "r1n2"};
  const auto cluster = build_cluster(read_names(hosts).value()).value();
  CHECK(cluster.source == "host names (r2n1 seems to be in rack r2)");
  CHECK(facts(cluster) ==
        Hosts{"r1n1 0  r1 : r1", "r1n2 0  r1 : r1", "r2n1 0  r2 : r2", "rack 0.000000 2"});
}

}  // namespace robustrun::topo::read_names_test
