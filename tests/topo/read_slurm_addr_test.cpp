#include "topo/read/slurm_addr.h"

#include <doctest/doctest.h>

#include "tests/topo/fixture.h"
#include "topo/limits.h"

namespace robustrun::topo::read_slurm_addr_test {
namespace {

Cluster read(std::string_view text) {
  return build_cluster(read_slurm_addr(text, "tasks").value()).value();
}

std::string error_of(std::string_view text) {
  const auto said = read_slurm_addr(text, "tasks");
  if (!said) return said.error().what;
  const auto cluster = build_cluster(*said);
  return cluster ? "no error" : cluster.error().what;
}

}  // namespace

TEST_CASE("addresses of tasks make a tree") {
  CHECK(shown(read(fixture("tasks.addr"))) ==
        "n1: leaf01 pod1 core\nn2: leaf01 pod1 core\nn3: leaf02 pod2 core\nn4: edge edge core\n");
  CHECK(shown(read("b8.n1 block.node\nb8.n2\tblock.node\n\nb9.n3 block.node")) ==
        "n1: b8\nn2: b8\nn3: b9\n");
  check_shuffled(fixture("tasks.addr"), [](const std::string& text) { return read(text); });
}

TEST_CASE("a line of addresses is recognised") {
  CHECK(is_slurm_addr("s0.s1.n1 switch.switch.node"));
  CHECK(is_slurm_addr(" n1  node "));
  CHECK_FALSE(is_slurm_addr("n1"));
  CHECK_FALSE(is_slurm_addr(""));
  CHECK_FALSE(is_slurm_addr("s0.n1 switch"));
  CHECK_FALSE(is_slurm_addr("s0.n1 switch.node x"));
  CHECK_FALSE(is_slurm_addr("s0.n1 rack.node"));
  CHECK_FALSE(is_slurm_addr("SwitchName=s0 Nodes=n1"));
}

TEST_CASE("incomplete or ambiguous addresses are refused with their line") {
  CHECK(error_of("s1.n1 switch.node\ns1.n2\n").starts_with("cannot use tasks, line 2: expected"));
  CHECK(error_of("n1 node\n").find("line 1: the node is below no switch") != std::string::npos);
  CHECK(error_of(".n1 switch.node\n").find("line 1: the node is below no switch") !=
        std::string::npos);
  CHECK(error_of("s1. switch.node\n").find("line 1: the node is below no switch") !=
        std::string::npos);
  CHECK(error_of("s1.n1.example.org switch.node\n")
            .find("line 1: the address has 4 parts and its "
                  "pattern 2: names with dots") != std::string::npos);
  CHECK(error_of("s1.n1 switch.node\ns2.n1 switch.node\n").find("line 2: node 'n1' is below") !=
        std::string::npos);
  CHECK(error_of("s[1-2].n1 switch.node\ns2.n2 switch.node\n") == "no error");
  CHECK(error_of(std::string(kTextBytesMax + 1, ' ')).find("longer than") != std::string::npos);
}

}  // namespace robustrun::topo::read_slurm_addr_test
