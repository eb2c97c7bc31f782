#include "cli/tables/topology_file.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

#include "cli/options/limits.h"
#include "tests/paths.h"
#include "tests/topo/shown.h"

namespace robustrun::cli::topology_file_test {
namespace {

constexpr const char* kWhole = R"(
[level.minipod]
gbps = 400
[level.leaf]
gbps = 800.5

[[switch]]
name = "pod1"
level = "minipod"
switches = ["leaf[1-2]", "leaf3"]
[[switch]]
name = "leaf1"
nodes = "n[1-2]"
[[switch]]
name = "leaf2"
nodes = ["n[3-4]"]
[[switch]]
name = "leaf3"
nodes = ["n5", "m[6-7]"]

[[node]]
name = "n[1-4]"
slots = 8
rack = "r1"
[[node]]
name = ["n5", "m[6-7]"]
slots = 4
nvl_domain = "nvl1"
rack = "r2"
power = "pdu1"
)";

std::string error_of(std::string_view text) {
  const auto said = parse_topology(text, "t.toml");
  if (!said) return said.error().what;
  const auto cluster = topo::build_cluster(*said);
  return cluster ? "no error" : cluster.error().what;
}

topo::Cluster read(std::string_view text) {
  return topo::build_cluster(parse_topology(text, "t.toml").value()).value();
}

}  // namespace

TEST_CASE("a cluster in TOML: switches, levels, labels") {
  const topo::Cluster cluster = read(kWhole);
  CHECK(shown(cluster) ==
        "n1: leaf1 pod1\nn2: leaf1 pod1\nn3: leaf2 pod1\nn4: leaf2 pod1\nn5: leaf3 pod1\n"
        "m6: leaf3 pod1\nm7: leaf3 pod1\n");
  CHECK(cluster.source == "t.toml");
  CHECK(cluster.levels[0].gbps == 800.5);
  CHECK(cluster.levels[1].name == "minipod");
  CHECK(cluster.levels[1].gbps == 400);
  CHECK(cluster.nodes[3].slots == 8);
  CHECK(cluster.nodes[3].rack == "r1");
  CHECK(cluster.nodes[6].slots == 4);
  CHECK(cluster.nodes[6].nvl_domain == "nvl1");
  CHECK(cluster.nodes[6].rack == "r2");
  CHECK(cluster.nodes[6].power == "pdu1");
}

TEST_CASE("the order of the tables changes nothing but numbers") {
  const std::string nodes = std::string(kWhole).substr(std::string(kWhole).find("[[node]]"));
  const std::string others = std::string(kWhole).substr(0, std::string(kWhole).find("[[node]]"));
  const std::string switches = others.substr(others.find("[[switch]]"));
  const std::string levels = others.substr(0, others.find("[[switch]]"));
  CHECK(topo::facts(read(nodes + switches + levels)) == topo::facts(read(kWhole)));
  CHECK(topo::facts(read(switches + levels + nodes)) == topo::facts(read(kWhole)));
}

TEST_CASE("errors in a topology name file, line and key") {
  struct Row {
    const char* text;
    const char* error;
  };
  const Row rows[] = {
      {"[[switch]\n", "t.toml:1:"},
      {"", "cannot use t.toml: there is no switch in it"},
      {"[[switch]]\nname = \"s\"\nnodes = \"n1\"\n\n[[swich]]\n",
       "cannot use t.toml, line 5: unknown key 'swich' (did you mean switch?); expected one of "
       "level, switch, node"},
      {"[[switch]]\nname = \"s\"\nnods = \"n1\"\n",
       "line 3: unknown key 'nods' (did you mean nodes?); expected one of name, level, switches, "
       "nodes"},
      {"[[node]]\nname = \"s\"\nrak = \"n1\"\n", "line 3: unknown key 'rak' (did you mean rack?)"},
      {"[level.leaf]\ngpbs = 1\n", "line 2: unknown key 'gpbs' (did you mean gbps?)"},
      {"[level]\nleaf = 1\n", "line 2: leaf must be a table: [level.leaf]"},
      {"level = 1\n", "line 1: level must be tables: [level.leaf]"},
      {"[level.leaf]\ngbps = \"1\"\n", "line 2: gbps must be a number of Gbit/s"},
      {"[level.leaf]\ngbps = nan\n[[switch]]\nname = \"s\"\nnodes = \"n\"\n",
       "line 1: level 'leaf' needs one bandwidth above 0"},
      {"[level.leaf]\n[[switch]]\nname = \"s\"\nnodes = \"n\"\n",
       "line 1: level 'leaf' needs one bandwidth above 0"},
      {"[level.laef]\ngbps = 1\n[[switch]]\nname = \"s\"\nnodes = \"n\"\n",
       "line 1: there is no level 'laef' (did you mean 'leaf'?)"},
      {"[switch]\nname = \"s\"\n", "line 1: switch must be tables of the form [[switch]]"},
      {"switch = [1]\n", "line 1: switch must be tables of the form [[switch]]"},
      {"\n[[switch]]\nnodes = \"n1\"\n", "line 2: a switch needs a name"},
      {"[[switch]]\nname = 1\n", "line 2: name must be a string that is not empty"},
      {"[[switch]]\nname = \"s\"\nnodes = 1\n", "line 3: nodes must be a list of names"},
      {"[[switch]]\nname = \"s\"\nnodes = [\"n1\",\n 2]\n",
       "line 3: nodes must be a list of names such as \"n[1-16]\", or an array of these"},
      {"[[switch]]\nname = \"s\"\nnodes = [\"n1\",\n\"n[2\"]\n",
       "line 4: nodes, at character 2: the bracket is not closed"},
      {"[[switch]]\nname = \"s\"\n", "line 1: switch 's' has no children"},
      {"[[switch]]\nname = \"s\"\nnodes = []\n", "line 1: switch 's' has no children"},
      {"[[switch]]\nname = \"s\"\nnodes = \"n1\"\n[[switch]]\nname = \"s\"\nnodes = \"n2\"\n",
       "cannot use t.toml, line 4: switch 's' is described twice (line 1)"},
      {"[[node]]\nslots = 8\n", "line 1: a node needs a name"},
      {"[[node]]\nname = \"n1\"\nslots = 0\n", "line 3: slots must be a number of ranks"},
      {"[[node]]\nname = \"n1\"\nslots = 8.5\n", "line 3: slots must be a number of ranks"},
      {"[[switch]]\nname = \"s\"\nnodes = \"n1\"\n[[node]]\nname = \"n[1-2]\"\n",
       "line 4: node 'n2' is below no switch"},
      {"[[switch]]\nname = \"s\"\nnodes = \"n[1-999999]\"\n",
       "line 3: it names more than 196608 nodes and switches"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const std::string error = error_of(row.text);
    CAPTURE(error);
    CHECK(error.find(row.error) != std::string::npos);
  }
}

TEST_CASE("a topology in TOML has a maximum length") {
  const std::string text = "[[switch]]\nname = \"s\"\nnodes = \"n1\"\n";
  CHECK(error_of(text + std::string(kTopologyTomlBytesMax - text.size(), '\n')) == "no error");
  CHECK(error_of(text + std::string(kTopologyTomlBytesMax, '\n')).find("longer than 16777216") !=
        std::string::npos);
}

TEST_CASE("the shipped example of a topology is valid") {
  std::ifstream file(in_source("configs/topology.toml"));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  REQUIRE_FALSE(text.empty());
  const topo::Cluster cluster = read(text);
  CHECK(cluster.levels.size() == 3);
  CHECK(cluster.levels[1].gbps > 0);
  CHECK(topo::has_structure(cluster));
}

}  // namespace robustrun::cli::topology_file_test
