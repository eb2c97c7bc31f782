#include "topo/read/scontrol.h"

#include <doctest/doctest.h>

#include "tests/topo/fixture.h"
#include "topo/read/slurm_conf.h"

namespace robustrun::topo::read_scontrol_test {
namespace {

Cluster read(std::string_view text) {
  return build_cluster(read_scontrol(text, "scontrol").value()).value();
}

std::string error_of(std::string_view text) {
  const auto said = read_scontrol(text, "scontrol");
  if (!said) return said.error().what;
  const auto cluster = build_cluster(*said);
  return cluster ? "no error" : cluster.error().what;
}

Cluster read_conf(const std::string& name) {
  return build_cluster(read_slurm_conf(fixture(name), name).value()).value();
}

}  // namespace

TEST_CASE("scontrol shows the cluster of topology.conf") {
  CHECK(facts(read(fixture("tree.scontrol"))) == facts(read_conf("tree.conf")));
  CHECK(facts(read(fixture("block.scontrol"))) == facts(read_conf("block.conf")));
  CHECK(read("SwitchName=s1 Level=0 LinkSpeed=1 Nodes=n1").source == "scontrol");
}

TEST_CASE("switches without nodes are left out, and those above them") {
  const Cluster cluster = read(
      "SwitchName=top Level=2 Nodes=n1 Switches=pod1,pod2\n"
      "SwitchName=pod1 Level=1 Nodes=n1 Switches=s1,s2\n"
      "SwitchName=pod2 Level=1 Switches=s3\n"
      "SwitchName=s1 Level=0 Nodes=n1\nSwitchName=s2 Level=0 Nodes=\nSwitchName=s3 Level=0\n");
  CHECK(shown(cluster) == "n1: s1 pod1 top\n");
  CHECK(error_of("SwitchName=s1 Level=0\n").find("there is no switch in it") != std::string::npos);
}

TEST_CASE("the order of scontrol's lines changes nothing but numbers") {
  const auto reader = [](const std::string& text) { return read(text); };
  check_shuffled(fixture("tree.scontrol"), reader);
  check_shuffled(fixture("block.scontrol"), reader);  // BlockIndex says it
}

TEST_CASE("fields of other versions do not matter") {
  CHECK(shown(read("BlockName=b1 BlockIndex=0 Nodes=n1 BlockSize=1 Quality=high\n")) == "n1: b1\n");
  CHECK(shown(read("SwitchName=s1 Level=0 Nodes=n1 Colour=\"blue green\"\n")) == "n1: s1\n");
}

TEST_CASE("lines that are not scontrol's are refused with their number") {
  CHECK(error_of("SwitchName=s1 Level=0 Nodes=n1\nNo topology information\n") ==
        "cannot use scontrol, line 2: 'No' is not of the form Key=value");
  CHECK(
      error_of("RingName=r1 Nodes=n1 RingSize=1\n")
          .starts_with("cannot use scontrol, line 1: unknown key RingName; expected SwitchName, "));
  CHECK(error_of("SwitchName=s1 Level=0 Nodes=n[1\n").find("line 1: Nodes, at character 2") !=
        std::string::npos);
  CHECK(error_of("BlockName=b1 BlockIndex=x Nodes=n1\n").find("line 1: BlockIndex must be") !=
        std::string::npos);
  CHECK(error_of("SwitchName=s1 Level=0 Nodes=n1\nBlockName=b1 BlockIndex=0 Nodes=n1\n")
            .find("line 2: it has both switches and blocks") != std::string::npos);
  CHECK(error_of("SwitchName=s1 Level=0 Nodes=n1\nSwitchName=s2 Level=0 Nodes=n1\n")
            .find("line 2: node 'n1' is below switch 's2' and 's1' (line 1)") != std::string::npos);
  // Even if one of the two is empty.
  CHECK(error_of("SwitchName=s1 Level=0 Nodes=n1\nSwitchName=s1 Level=0\n")
            .find("line 2: switch 's1' is described twice (line 1)") != std::string::npos);
}

}  // namespace robustrun::topo::read_scontrol_test
