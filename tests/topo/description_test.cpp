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
  auto switches = two_pods();
  switches.push_back(std::move(more));
  return error_of(switches);
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
  auto switches = two_pods();
  std::swap(switches[3], switches[6]);
  const auto cluster = build_cluster({"", switches, {}, {}}).value();
  CHECK(cluster.nodes.front().name == "n5");
  CHECK(cluster.nodes.back().name == "n2");
  CHECK(cluster.levels[0].switches.front().name == "l4");
}

TEST_CASE("a branch that lacks a level gets a stand-in there") {
  // l9 is directly below the core, n7 directly below pod1, and top2 is a separate tree.
  auto switches = two_pods();
  switches[0].switches.emplace_back("l9");
  switches[1].nodes.emplace_back("n7");
  switches.push_back(leaf("l9", {"n8", "n9"}, 8));
  switches.push_back(leaf("top2", {"n10"}, 9));
  const auto cluster = build_cluster({"", switches, {}, {}}).value();
  CHECK(has(shown(cluster), "n7: pod1 pod1 core\n"));
  CHECK(has(shown(cluster), "n8: l9 l9 core\nn9: l9 l9 core\n"));
  CHECK(has(shown(cluster), "n10: top2 top2 top2\n"));
  CHECK(has(shown(cluster), "n1: l1 pod1 core\n"));
  CHECK(is_consistent(cluster));
}

TEST_CASE("levels may have other names, and a bandwidth") {
  auto switches = two_pods();
  switches[1].level = "pod";
  switches[3].level = "core";  // so that the top cannot be
  const auto cluster =
      build_cluster({"", switches, {}, {{"pod", 400, 20}, {"level3", 100.5, 21}}}).value();
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

TEST_CASE("descriptions that are no tree are refused with line and cause") {
  CHECK(error_of({}) ==
        "cannot use c.conf: there is no switch in it; name switches and their children");
  CHECK(error_with(leaf("l1", {"n7"}, 8)) ==
        "cannot use c.conf, line 8: switch 'l1' is described twice (line 4); list all its children "
        "in one description");
  CHECK(error_with(leaf("l5", {"n1"}, 8)) ==
        "cannot use c.conf, line 8: node 'n1' is below switch 'l5' and 'l1' (line 4); leave out "
        "all but the nearest");
  CHECK(error_with(leaf("l5", {"n7", "n7"}, 8)) ==
        "cannot use c.conf, line 8: node 'n7' is named twice below switch 'l5'; name it once");
  CHECK(error_with(above("core2", {"pod1"}, 8)) ==
        "cannot use c.conf, line 8: switch 'pod1' is below 'core2' and 'core' (line 1); a tree is "
        "required: leave out all but one");
  CHECK(error_with(above("core2", {"core", "core"}, 8)) ==
        "cannot use c.conf, line 8: switch 'core' is named twice below 'core2'; name it once");
  CHECK(error_with(leaf("l5", {}, 8)) ==
        "cannot use c.conf, line 8: switch 'l5' has no children; name its nodes or switches, or "
        "leave it out");
  CHECK(error_with(above("core2", {"elsewhere"}, 8)) ==
        "cannot use c.conf, line 8: switch 'elsewhere' is not described; describe it, or remove "
        "it from the children of 'core2'");
  CHECK(has(error_with(above("core2", {"pod"}, 8)), "(did you mean 'pod1'?)"));
  CHECK(has(error_with(leaf("l 5", {"n7"}, 8)), "line 8: 'l 5' is not a name for a switch"));
  CHECK(has(error_with(leaf("", {"n7"}, 8)), "'' is not a name for a switch"));
  CHECK(has(error_with(leaf("l5", {"n\x1b[2J"}, 8)), "'n\\x1b[2J' is not a name for a node"));
}

TEST_CASE("a cycle is shown") {
  CHECK(error_of({above("a", {"b"}, 1), above("b", {"a"}, 2)}) ==
        "cannot use c.conf, line 1: switches form a cycle: a is below b, which is below a; remove "
        "one of them from the children of another");
  CHECK(has(error_of({above("a", {"a"}, 1)}), "a is below a;"));
  // With a tree below the cycle, and others beside it.
  auto switches = two_pods();
  switches.push_back(leaf("l5", {"n7"}, 8));
  switches.push_back(above("x", {"l5", "y"}, 9));
  switches.push_back(above("y", {"z"}, 10));
  switches.push_back(above("z", {"x"}, 11));
  CHECK(has(error_of(switches),
            "line 9: switches form a cycle: x is below z, which is below y, which is below "
            "x;"));
  std::vector<SwitchEntry> ring;
  for (std::uint32_t i = 0; i < 1000; ++i) {
    ring.push_back(above(fmt::format("s{}", i), {fmt::format("s{}", (i + 1) % 1000)}, i + 1));
  }
  CHECK(error_of(ring).size() < 400);
  CHECK(has(error_of(ring), "line 1: switches form a cycle: s0 is below s999"));
}

TEST_CASE("names of levels must match heights") {
  auto switches = two_pods();
  switches[1].level = "pod";
  switches[2].level = "hall";
  CHECK(error_of(switches) ==
        "cannot use c.conf, line 3: switch 'pod2' is on level 'hall', and 'pod1' (line 2), of the "
        "same height, is on level 'pod'; use one name");
  switches[2].level = "";
  switches[4].level = "pod";
  CHECK(
      has(error_of(switches), "line 5: switches 'l2' and 'pod1' (line 2) are both on level 'pod'"));
  switches[4].level = "a b";
  CHECK(has(error_of(switches), "line 5: 'a b' is not a name for a level"));
  switches = two_pods();
  switches[1].level = "core";
  switches[3].level = "level3";
  CHECK(error_of(switches) ==
        "cannot use c.conf: 'level3' is the name of another level; name all levels");
}

TEST_CASE("labels and bandwidths need their node or level") {
  CHECK(error_of(two_pods(), {{"n-1", 0, "", "", "", 9}}) ==
        "cannot use c.conf, line 9: node 'n-1' is below no switch (did you mean 'n1'?); name it "
        "below one");
  CHECK(error_of(two_pods(), {{"n1", 0, "", "", "", 9}, {"n1", 0, "", "", "", 10}}) ==
        "cannot use c.conf, line 10: node 'n1' is described twice (line 9); describe it once");
  CHECK(has(error_of(two_pods(), {{"n1", 0, "", "r 1", "", 9}}),
            "'r 1' is not a label for node 'n1'"));
  CHECK(has(error_of(two_pods(), {{"n1", kRanksMax + 1, "", "", "", 9}}),
            "line 9: node 'n1' has more than 2000000 slots"));
  CHECK(error_of(two_pods(), {}, {{"minipid", 1, 9}}) ==
        "cannot use c.conf, line 9: there is no level 'minipid' (did you mean 'minipod'?); "
        "expected one of leaf, minipod, core");
  CHECK(has(error_of(two_pods(), {}, {{"leaf", 0, 9}}),
            "line 9: level 'leaf' needs one bandwidth above 0"));
  CHECK(has(error_of(two_pods(), {}, {{"leaf", 1, 9}, {"leaf", 2, 10}}),
            "line 10: level 'leaf' needs one"));
}

TEST_CASE("every limit of a description is reached") {
  CHECK(error_of({leaf(std::string(kNameBytesMax, 's'), {"n"}, 1)}) == "no error");
  CHECK(has(error_of({leaf(std::string(kNameBytesMax + 1, 's'), {"n"}, 1)}), "is not a name"));
  const auto chain = [](std::size_t levels) {
    std::vector<SwitchEntry> made = {leaf("s0", {"n"}, 1)};
    for (std::size_t i = 1; i < levels; ++i) {
      made.push_back(above(fmt::format("s{}", i), {made.back().name}, 1));
    }
    return made;
  };
  CHECK(error_of(chain(kLevelsMax)) == "no error");
  CHECK(has(error_of(chain(kLevelsMax + 1)), "more than 16 levels"));
  const auto wide = [](std::size_t count) {
    std::vector<SwitchEntry> made;
    for (std::size_t i = 0; i < count; ++i) {
      made.push_back(leaf(fmt::format("s{}", i), {fmt::format("n{}", i)}, 1));
    }
    return made;
  };
  CHECK(error_of(wide(kSwitchesMax)) == "no error");
  CHECK(has(error_of(wide(kSwitchesMax + 1)), "more than 65536 switches"));
  // Stand-ins count, too.
  auto lopsided = wide(kSwitchesMax - 2);
  lopsided.push_back(above("top", {"s0"}, 1));
  CHECK(has(error_of(lopsided), "once all branches are equally deep"));
  std::vector<std::string> nodes;
  for (std::size_t i = 0; i < kNodesMax; ++i) nodes.push_back(fmt::format("n{}", i));
  CHECK(error_of({leaf("s", nodes, 1)}) == "no error");
  nodes.emplace_back("more");
  CHECK(has(error_of({leaf("s", nodes, 1)}), "more than 131072 nodes"));
}

TEST_CASE("a hundred thousand nodes take well under a second") {
  std::vector<SwitchEntry> switches = {above("core", {}, 1)};
  for (int pod = 0; pod < 100; ++pod) {
    switches[0].switches.push_back(fmt::format("pod{}", pod));
    SwitchEntry entry = above(switches[0].switches.back(), {}, 2);
    for (int rack = 0; rack < 50; ++rack) {
      entry.switches.push_back(fmt::format("leaf-{}-{}", pod, rack));
      switches.push_back(leaf(entry.switches.back(), {}, 3));
      for (int node = 0; node < 20; ++node) {
        switches.back().nodes.push_back(fmt::format("gpu-node-{}-{}-{}", pod, rack, node));
      }
    }
    switches.push_back(std::move(entry));
  }
  const std::clock_t start = std::clock();  // of the processor: the machine may have more to do
  const auto cluster = build_cluster({"", std::move(switches), {}, {}}).value();
  const std::clock_t took = std::clock() - start;
  CHECK(cluster.nodes.size() == 100'000);
  CHECK(took <
        (robustrun::test::kSanitized ? 20 : 2) * CLOCKS_PER_SEC);  // 0.1 s on a quiet machine
}

}  // namespace robustrun::topo::description_test
