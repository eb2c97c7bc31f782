#include "topo/network/description.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <ctime>

#include "tests/support/sanitized.h"
#include "tests/topo/shown.h"
#include "topo/limits.h"

namespace robustrun::topo::description_test {
namespace {

SwitchEntry above(std::string name, std::vector<std::string> switches, std::uint32_t line) {
  return {std::move(name), std::move(switches), {}, "", line};
}
SwitchEntry leaf(std::string name, std::vector<std::string> nodes, std::uint32_t line) {
  return {std::move(name), {}, std::move(nodes), "", line};
}

std::string error_of(std::vector<SwitchEntry> switches, std::vector<NodeEntry> nodes = {},
                     std::vector<LevelEntry> levels = {}) {
  const auto cluster =
      build_cluster({"c.conf", std::move(switches), std::move(nodes), std::move(levels)});
  return cluster ? "no error" : cluster.error().what;
}

bool has(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Two pods of two leaves each.
std::vector<SwitchEntry> two_pods() {
  return {above("core", {"pod1", "pod2"}, 1),
          above("pod1", {"l1", "l2"}, 2),
          above("pod2", {"l3", "l4"}, 3),
          leaf("l1", {"n1", "n2"}, 4),
          leaf("l2", {"n3"}, 5),
          leaf("l3", {"n4"}, 6),
          leaf("l4", {"n5", "n6"}, 7)};
}

std::string error_with(SwitchEntry more) {
  auto said = two_pods();
  said.push_back(std::move(more));
  return error_of(said);
}

}  // namespace

TEST_CASE("levels are found from the bottom up and named by height") {
  const auto cluster = build_cluster({"c.conf", two_pods(), {}, {}}).value();
  REQUIRE(cluster.levels.size() == 3);
  CHECK(cluster.levels[0].name == "leaf");
  CHECK(cluster.levels[1].name == "minipod");
  CHECK(cluster.levels[2].name == "core");
  CHECK(cluster.source == "c.conf");
  CHECK(shown(cluster) ==
        "n1: l1 pod1 core\nn2: l1 pod1 core\nn3: l2 pod1 core\n"
        "n4: l3 pod2 core\nn5: l4 pod2 core\nn6: l4 pod2 core\n");
  CHECK(is_consistent(cluster));
}

TEST_CASE("nodes and switches are in the order of first mention") {
  auto said = two_pods();
  std::swap(said[3], said[6]);
  const auto cluster = build_cluster({"", said, {}, {}}).value();
  CHECK(cluster.nodes.front().name == "n5");
  CHECK(cluster.nodes.back().name == "n2");
  CHECK(cluster.levels[0].switches.front().name == "l4");
}

TEST_CASE("a branch that lacks a level has a switch of its own there") {
  // l9 hangs right on the core, n7 right on pod1, and top2 is a tree of its own.
  auto said = two_pods();
  said[0].switches.emplace_back("l9");
  said[1].nodes.emplace_back("n7");
  said.push_back(leaf("l9", {"n8", "n9"}, 8));
  said.push_back(leaf("top2", {"n10"}, 9));
  const auto cluster = build_cluster({"", said, {}, {}}).value();
  CHECK(has(shown(cluster), "n7: pod1 pod1 core\n"));
  CHECK(has(shown(cluster), "n8: l9 l9 core\nn9: l9 l9 core\n"));
  CHECK(has(shown(cluster), "n10: top2 top2 top2\n"));
  CHECK(has(shown(cluster), "n1: l1 pod1 core\n"));
  CHECK(is_consistent(cluster));
}

TEST_CASE("levels may be called otherwise, and have a bandwidth") {
  auto said = two_pods();
  said[1].level = "pod";
  said[3].level = "core";  // so that the top cannot be
  const auto cluster =
      build_cluster({"", said, {}, {{"pod", 400, 20}, {"level3", 100.5, 21}}}).value();
  CHECK(cluster.levels[0].name == "core");
  CHECK(cluster.levels[1].name == "pod");
  CHECK(cluster.levels[2].name == "level3");
  CHECK(cluster.levels[0].gbps == 0);
  CHECK(cluster.levels[1].gbps == 400);
  CHECK(cluster.levels[2].gbps == 100.5);
}

TEST_CASE("nodes have slots and labels") {
  const auto cluster =
      build_cluster({"", two_pods(), {{"n3", 8, "nvl1", "r1", "pdu1", 9}}, {}}).value();
  CHECK(cluster.nodes[2].name == "n3");
  CHECK(cluster.nodes[2].slots == 8);
  CHECK(cluster.nodes[2].nvl_domain == "nvl1");
  CHECK(cluster.nodes[2].rack == "r1");
  CHECK(cluster.nodes[2].power == "pdu1");
  CHECK(cluster.nodes[1].slots == 0);
}

TEST_CASE("what is no tree is refused with the line and the cause") {
  CHECK(error_of({}) ==
        "cannot use c.conf: there is no switch in it; name switches and what hangs on them");
  CHECK(error_with(leaf("l1", {"n7"}, 8)) ==
        "cannot use c.conf, line 8: switch 'l1' is described twice (line 4); put all that hangs on "
        "it into one description");
  CHECK(error_with(leaf("l5", {"n1"}, 8)) ==
        "cannot use c.conf, line 8: node 'n1' hangs on switch 'l5' and on 'l1' (line 4); leave out "
        "all but the nearest");
  CHECK(error_with(leaf("l5", {"n7", "n7"}, 8)) ==
        "cannot use c.conf, line 8: node 'n7' hangs twice on switch 'l5'; name it once");
  CHECK(error_with(above("core2", {"pod1"}, 8)) ==
        "cannot use c.conf, line 8: switch 'pod1' hangs on 'core2' and on 'core' (line 1); only "
        "trees can be used: leave out all but one");
  CHECK(error_with(above("core2", {"core", "core"}, 8)) ==
        "cannot use c.conf, line 8: switch 'core' hangs twice on 'core2'; name it once");
  CHECK(error_with(leaf("l5", {}, 8)) ==
        "cannot use c.conf, line 8: nothing hangs on switch 'l5'; name its nodes or switches, or "
        "leave it out");
  CHECK(error_with(above("core2", {"elsewhere"}, 8)) ==
        "cannot use c.conf, line 8: switch 'elsewhere' is described nowhere; describe it, or take "
        "it from what hangs on 'core2'");
  CHECK(has(error_with(above("core2", {"pod"}, 8)), "(did you mean 'pod1'?)"));
  CHECK(has(error_with(leaf("l 5", {"n7"}, 8)), "line 8: 'l 5' is no name for a switch"));
  CHECK(has(error_with(leaf("", {"n7"}, 8)), "'' is no name for a switch"));
  CHECK(has(error_with(leaf("l5", {"n\x1b[2J"}, 8)), "'n\\x1b[2J' is no name for a node"));
}

TEST_CASE("a cycle is shown") {
  CHECK(error_of({above("a", {"b"}, 1), above("b", {"a"}, 2)}) ==
        "cannot use c.conf, line 1: switches hang on each other: a hangs on b, which hangs on a; "
        "take one of them from what hangs on the other");
  CHECK(has(error_of({above("a", {"a"}, 1)}), "a hangs on a;"));
  // With a tree below it, and others beside it.
  auto said = two_pods();
  said.push_back(leaf("l5", {"n7"}, 8));
  said.push_back(above("x", {"l5", "y"}, 9));
  said.push_back(above("y", {"z"}, 10));
  said.push_back(above("z", {"x"}, 11));
  CHECK(has(error_of(said),
            "line 9: switches hang on each other: x hangs on z, which hangs on y, which hangs on "
            "x;"));
  std::vector<SwitchEntry> ring;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ring.push_back(above(fmt::format("s{}", i), {fmt::format("s{}", (i + 1) % 1000)}, i + 1));
  }
  CHECK(error_of(ring).size() < 400);
  CHECK(has(error_of(ring), "line 1: switches hang on each other: s0 hangs on s999"));
}

TEST_CASE("names of levels have to fit heights") {
  auto said = two_pods();
  said[1].level = "pod";
  said[2].level = "hall";
  CHECK(error_of(said) ==
        "cannot use c.conf, line 3: switch 'pod2' is on level 'hall', and 'pod1' (line 2), which "
        "is as high, is on level 'pod'; use one name");
  said[2].level = "";
  said[4].level = "pod";
  CHECK(has(error_of(said), "line 5: switches 'l2' and 'pod1' (line 2) are to be on level 'pod'"));
  said[4].level = "a b";
  CHECK(has(error_of(said), "line 5: 'a b' is no name for a level"));
  said = two_pods();
  said[1].level = "core";
  said[3].level = "level3";
  CHECK(error_of(said) ==
        "cannot use c.conf: 'level3' is the name of another level; call all levels by name");
}

TEST_CASE("labels and bandwidths belong to something") {
  CHECK(error_of(two_pods(), {{"n-1", 0, "", "", "", 9}}) ==
        "cannot use c.conf, line 9: node 'n-1' hangs on no switch (did you mean 'n1'?); name it "
        "below one");
  CHECK(error_of(two_pods(), {{"n1", 0, "", "", "", 9}, {"n1", 0, "", "", "", 10}}) ==
        "cannot use c.conf, line 10: node 'n1' is described twice (line 9); do so once");
  CHECK(has(error_of(two_pods(), {{"n1", 0, "", "r 1", "", 9}}), "'r 1' is no label of node 'n1'"));
  CHECK(has(error_of(two_pods(), {{"n1", kRanksMax + 1, "", "", "", 9}}),
            "line 9: node 'n1' has more than 2000000 slots"));
  CHECK(error_of(two_pods(), {}, {{"minipid", 1, 9}}) ==
        "cannot use c.conf, line 9: there is no level 'minipid' (did you mean 'minipod'?); from "
        "the bottom up they are leaf, minipod, core");
  CHECK(has(error_of(two_pods(), {}, {{"leaf", 0, 9}}),
            "line 9: level 'leaf' needs one bandwidth above 0"));
  CHECK(has(error_of(two_pods(), {}, {{"leaf", 1, 9}, {"leaf", 2, 10}}),
            "line 10: level 'leaf' needs one"));
}

TEST_CASE("every bound of a description is reached") {
  CHECK(error_of({leaf(std::string(kNameBytesMax, 's'), {"n"}, 1)}) == "no error");
  CHECK(has(error_of({leaf(std::string(kNameBytesMax + 1, 's'), {"n"}, 1)}), "is no name"));
  const auto chain = [](std::size_t levels) {
    std::vector<SwitchEntry> said = {leaf("s0", {"n"}, 1)};
    for (std::size_t i = 1; i < levels; ++i) {
      said.push_back(above(fmt::format("s{}", i), {said.back().name}, 1));
    }
    return said;
  };
  CHECK(error_of(chain(kLevelsMax)) == "no error");
  CHECK(has(error_of(chain(kLevelsMax + 1)), "more than 16 levels"));
  const auto wide = [](std::size_t switches) {
    std::vector<SwitchEntry> said;
    for (std::size_t i = 0; i < switches; ++i) {
      said.push_back(leaf(fmt::format("s{}", i), {fmt::format("n{}", i)}, 1));
    }
    return said;
  };
  CHECK(error_of(wide(kSwitchesMax)) == "no error");
  CHECK(has(error_of(wide(kSwitchesMax + 1)), "more than 65536 switches"));
  // Stand-ins count, too.
  auto lopsided = wide(kSwitchesMax - 2);
  lopsided.push_back(above("top", {"s0"}, 1));
  CHECK(has(error_of(lopsided), "once every branch is as deep"));
  std::vector<std::string> nodes;
  for (std::size_t i = 0; i < kNodesMax; ++i) nodes.push_back(fmt::format("n{}", i));
  CHECK(error_of({leaf("s", nodes, 1)}) == "no error");
  nodes.emplace_back("more");
  CHECK(has(error_of({leaf("s", nodes, 1)}), "more than 131072 nodes"));
}

TEST_CASE("a hundred thousand nodes take well under a second") {
  std::vector<SwitchEntry> said = {above("core", {}, 1)};
  for (int pod = 0; pod < 100; ++pod) {
    said[0].switches.push_back(fmt::format("pod{}", pod));
    SwitchEntry entry = above(said[0].switches.back(), {}, 2);
    for (int rack = 0; rack < 50; ++rack) {
      entry.switches.push_back(fmt::format("leaf-{}-{}", pod, rack));
      said.push_back(leaf(entry.switches.back(), {}, 3));
      for (int node = 0; node < 20; ++node) {
        said.back().nodes.push_back(fmt::format("gpu-node-{}-{}-{}", pod, rack, node));
      }
    }
    said.push_back(std::move(entry));
  }
  const std::clock_t start = std::clock();  // of the processor: the machine may have more to do
  const auto cluster = build_cluster({"", std::move(said), {}, {}}).value();
  const std::clock_t took = std::clock() - start;
  CHECK(cluster.nodes.size() == 100'000);
  CHECK(took <
        (robustrun::test::kSanitized ? 20 : 2) * CLOCKS_PER_SEC);  // 0.1 s on a quiet machine
}

}  // namespace robustrun::topo::description_test
