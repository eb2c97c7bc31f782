#include "topo/read/slurm_conf.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "tests/topo/fixture.h"
#include "tests/topo/shown.h"
#include "topo/limits.h"

namespace robustrun::topo::read_slurm_conf_test {
namespace {

Cluster read(std::string_view text) {
  return build_cluster(read_slurm_conf(text, "t.conf").value()).value();
}

std::string error_of(std::string_view text) {
  const auto said = read_slurm_conf(text, "t.conf");
  if (!said) return said.error().what;
  const auto cluster = build_cluster(*said);
  return cluster ? "no error" : cluster.error().what;
}

}  // namespace

TEST_CASE("a topology.conf for topology/tree is read as Slurm does") {
  const Cluster cluster = read(fixture("tree.conf"));
  CHECK(shown(cluster) ==
        "gpu-ax: leaf01 pod1 core\ngpu-bx: leaf01 pod1 core\ngpu-cx: leaf01 pod1 core\n"
        "n1: leaf02 pod1 core\nn2: leaf02 pod1 core\nn3: leaf03 pod2 core\nn4: leaf03 pod2 core\n"
        "n5: leaf04 pod2 core\nn6: leaf04 pod2 core\nlogin7: edge edge core\n");
  CHECK(cluster.source == "t.conf");
  CHECK(cluster.levels[1].gbps == 0);  // LinkSpeed has no unit
}

TEST_CASE("halls without a common switch") {
  const Cluster cluster = read("SwitchName=a Nodes=n[1-2]\nSwitchName=b Nodes=n3\n");
  CHECK(cluster.levels.size() == 1);
  CHECK(cluster.levels[0].switches.size() == 2);
}

TEST_CASE("a topology.conf for topology/block has joined blocks above blocks") {
  const Cluster cluster = read(fixture("block.conf"));
  REQUIRE(cluster.levels.size() == 2);
  CHECK(cluster.levels[0].name == "block");
  CHECK(cluster.levels[1].name == "4-blocks");
  CHECK(path_of(cluster, 0) == " block1 block1..block4");
  CHECK(path_of(cluster, 15) == " block4 block1..block4");
  CHECK(path_of(cluster, 16) == " block5 block5/4");
}

TEST_CASE("without BlockSizes two, four, eight and sixteen blocks are joined") {
  std::string text;
  for (int i = 1; i <= 5; ++i) text += fmt::format("BlockName=b{0} Nodes=n{0}\n", i);
  const Cluster cluster = read(text);
  REQUIRE(cluster.levels.size() == 4);
  CHECK(cluster.levels[3].name == "8-blocks");
  CHECK(path_of(cluster, 0) == " b1 b1..b2 b1..b4 b1..b5");
  CHECK(path_of(cluster, 4) == " b5 b5/2 b5/4 b1..b5");
  // One size: nothing is joined.
  CHECK(read(text + "BlockSizes=1").levels.size() == 1);
}

TEST_CASE("blocks without nodes keep a position in the order") {
  const Cluster cluster = read(
      "BlockName=b1 Nodes=n1\nBlockName=b2\nBlockName=b3 Nodes=n3\nBlockName=b4 Nodes=n4\n"
      "BlockName=b5\nBlockName=b6\nBlockSizes=1,2\n");
  CHECK(shown(cluster) == "n1: b1 b1..b2\nn3: b3 b3..b4\nn4: b4 b3..b4\n");
}

TEST_CASE("blocks beside switches are domains of NVLink") {
  const Cluster cluster = read(
      "SwitchName=s1 Nodes=n[1-2]\nSwitchName=s2 Nodes=n3\nSwitchName=s3 Switches=s[1-2]\n"
      "BlockName=b1 Nodes=n[1-2]\n# b2=nvl-7\nBlockName=b2 Nodes=n3\nBlockSizes=2,4\n");
  CHECK(cluster.levels.size() == 2);
  CHECK(cluster.nodes[0].nvl_domain == "b1");
  CHECK(cluster.nodes[2].nvl_domain == "nvl-7");
}

TEST_CASE("topograph's files: names of domains in comments") {
  const Cluster tree = read(fixture("topograph-tree.conf"));
  CHECK(path_of(tree, 0) == " switch.1.1 switch.2.1 switch.3.1");
  CHECK(path_of(tree, 8) == " switch.1.3 switch.2.2 switch.3.1");
  CHECK(tree.nodes[0].nvl_domain.empty());
  const Cluster block = read(fixture("topograph-block.conf"));
  CHECK(shown(block) ==
        "node101: block001 block001..block002 block001..block004\n"
        "node102: block001 block001..block002 block001..block004\n"
        "node103: block002 block001..block002 block001..block004\n"
        "node201: block003 block003..block004 block001..block004\n"
        "node202: block003 block003..block004 block001..block004\n");
  CHECK(block.nodes[0].nvl_domain == "nvl-1");
  CHECK(block.nodes[2].nvl_domain == "nvl-1");
  CHECK(block.nodes[4].nvl_domain == "nvl-2");
}

TEST_CASE("errors name the line, the key and the remedy") {
  struct Row {
    const char* text;
    const char* error;
  };
  const Row rows[] = {
      {"", "cannot use t.conf: there is no switch in it"},
      {"# nothing\n\n", "cannot use t.conf: there is no switch in it"},
      {"SwitchName=s1 Nodes=n1\n\nSwitchNam=s2 Nodes=n2\n",
       "cannot use t.conf, line 3: unknown key SwitchNam (did you mean SwitchName?); expected one "
       "of SwitchName, BlockName, BlockSizes"},
      {"SwitchName=s1 Node=n1\n", "line 1: unknown key Node (did you mean Nodes?)"},
      {"RingName=r1 Nodes=n1\n", "line 1: unknown key RingName"},
      {"include other.conf\n", "line 1: 'include' is not of the form Key=value"},
      {"SwitchName=s1 Nodes=n1 nodes=n2\n", "line 1: nodes is given twice"},
      {"SwitchName=s1 Nodes=\"n1\n", "line 1: a quotation mark is not closed"},
      {"SwitchName=s1 LinkSpeed=fast Nodes=n1\n", "line 1: LinkSpeed must be a number, not 'fast'"},
      {"\nSwitchName=s1 Nodes=n[3-1]\n",
       "line 2: Nodes, at character 3: the range 3-1 runs backwards"},
      {"SwitchName=s1 Nodes=n1,,n2\n", "line 1: Nodes, at character 4: a name is missing"},
      {"SwitchName=s1 Nodes=n$\n", "at character 2: no name has the character '$'"},
      {"SwitchName=s1 Nodes=\"n1 n2\"\n", "at character 3: names are separated by commas"},
      {"SwitchName=s1\n", "line 1: switch 's1' has no children"},
      {"SwitchName=s1 Nodes= Switches=s2\nSwitchName=s2 Nodes=n1\n", "no error"},
      {"SwitchName= Nodes=n1\n", "line 1: '' is not a name for a switch"},
      {"SwitchName=s1 \\\n  Nodes=n1\nSwitchName=s2 Nodes=n1\n",
       "line 3: node 'n1' is below switch 's2' and 's1' (line 1)"},
      {"SwitchName=a Switches=b\nSwitchName=b Switches=a\n", "line 1: switches form a cycle"},
      {"BlockName=b1 Nodes=n1 Level=1\n", "line 1: unknown key Level"},
      {"BlockName=b1 Nodes=n1\nBlockSizes=2,x\n",
       "line 2: BlockSizes must be numbers of nodes such as 8,16,32, not '2,x'"},
      {"BlockName=b1 Nodes=n1\nBlockSizes=0\n", "line 2: BlockSizes must be numbers"},
      {"BlockName=b1 Nodes=n1\nBlockSizes=2,6\n",
       "line 2: invalid block size 6: each must be 2, 4, 8, ... times the first one, "
       "which is 2"},
      {"BlockName=b1 Nodes=n1\nBlockSizes=2,2\n", "line 2: invalid block size 2:"},
      {"BlockName=b1 Nodes=n1\nBlockSizes=1,65536\n", "line 2: invalid block size 65536"},
      {"BlockSizes=2\nBlockSizes=4\nBlockName=b1 Nodes=n1\n",
       "line 2: BlockSizes is given twice (line 1)"},
      {"BlockName=b1 Nodes=n1\nBlockName=b1 Nodes=n2\n",
       "line 2: switch 'b1' is described twice (line 1)"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const std::string error = error_of(row.text);
    CAPTURE(error);
    CHECK(error.find(row.error) != std::string::npos);
  }
}

TEST_CASE("the order of the lines changes nothing but numbers") {
  // Continued lines cannot be separated.
  std::string text;
  for (const std::string& line : lines_of(fixture("tree.conf"))) {
    text += line.ends_with('\\') ? line.substr(0, line.size() - 1) : line + "\n";
  }
  check_shuffled(text, [](const std::string& shuffled) { return read(shuffled); });
  check_shuffled(fixture("topograph-tree.conf"),
                 [](const std::string& shuffled) { return read(shuffled); });
}

TEST_CASE("every limit of a text is reached") {
  const auto text_of = [](std::size_t bytes) {
    return "SwitchName=s1 Nodes=n1\n" + std::string(bytes - 23, '#');
  };
  CHECK(error_of(text_of(kTextBytesMax)) == "no error");
  CHECK(error_of(text_of(kTextBytesMax + 1)).find("longer than 67108864 bytes") !=
        std::string::npos);
  // Brackets expand a short text to very many names.
  const std::size_t most = kNodesMax + kSwitchesMax;
  CHECK(error_of(fmt::format("SwitchName=s Nodes=n[1-{}]", kNodesMax)) == "no error");
  CHECK(error_of(fmt::format("SwitchName=s Nodes=n[1-{}]", most)).find("more than 131072 nodes") !=
        std::string::npos);
  CHECK(error_of(fmt::format("SwitchName=s Nodes=n[1-{}]", most + 1))
            .find("line 1: it names more than 196608 nodes and switches") != std::string::npos);
  std::string many;
  for (int i = 0; i < 1000; ++i) many += fmt::format("SwitchName=s{} Nodes=n[1-131072]\n", i);
  CHECK(error_of(many).find("line 2: it names more than 196608") != std::string::npos);
}

}  // namespace robustrun::topo::read_slurm_conf_test
