#include "topo/read/topology.h"

#include <doctest/doctest.h>

#include "tests/topo/fixture.h"

namespace robustrun::topo::read_topology_test {
namespace {

std::string error_of(std::string_view text) {
  const auto said = read_topology(text, "file");
  return said ? "no error" : said.error().what;
}

std::size_t nodes_of(const std::string& name) {
  return build_cluster(read_topology(fixture(name), name).value()).value().nodes.size();
}

}  // namespace

TEST_CASE("formats are recognised by their content") {
  CHECK(nodes_of("tree.conf") == 10);
  CHECK(nodes_of("block.conf") == 20);
  CHECK(nodes_of("tree.scontrol") == 10);
  CHECK(nodes_of("block.scontrol") == 20);
  CHECK(nodes_of("topograph-tree.conf") == 9);
  CHECK(nodes_of("topograph-block.conf") == 5);
  CHECK(nodes_of("labels.txt") == 4);
  CHECK(nodes_of("tasks.addr") == 4);
  CHECK(error_of("# first\n\n  switchname = s1 nodes=n1\n") == "no error");
  CHECK(error_of("BlockSizes=1\nBlockName=b1 Nodes=n1\n") == "no error");
}

TEST_CASE("known but unsupported formats are named, and never guessed at") {
  CHECK(error_of("") == "cannot use file: it is empty");
  CHECK(error_of("# x\n\n") == "cannot use file: it is empty");
  CHECK(error_of("#\n- topology: t1\n").starts_with("cannot use file, line 2: YAML is not"));
  CHECK(error_of("---\n- topology: t1\n").starts_with("cannot use file, line 1: YAML is not"));
  CHECK(error_of("{\"items\": []}").find("line 1: this looks like JSON") != std::string::npos);
  CHECK(error_of("[[switch]]\n").find("line 1: this looks like JSON or TOML") != std::string::npos);
  CHECK(error_of("n1 n2 n3\n").find("line 1: unknown format") != std::string::npos);
  CHECK(error_of("NodeName=n1\n").find("line 1: unknown format") != std::string::npos);
}

}  // namespace robustrun::topo::read_topology_test
