#include "cli/text/placement_text.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "cli/text/plan_json.h"
#include "tests/cli/fakes.h"

namespace robustrun::cli::placement_text_test {
namespace {

using testing::World;
using Argv = std::vector<std::string>;

constexpr const char* kNetwork = R"([level.leaf]
gbps = 80
[[switch]]
name = "a"
nodes = ["n1", "n3"]
[[switch]]
name = "b"
nodes = ["n2", "n4"]
)";

PlacementPlan plan(Argv argv, const std::string& network = kNetwork) {
  World world;
  world.fabric.files["net.toml"] = network;
  argv.push_back("train.py");
  const auto settings = world.merge(argv);
  REQUIRE(settings);
  auto nodes = plan_nodes(*settings, world.around);
  REQUIRE(nodes);
  auto made = plan_placement(
      *settings, world.around,
      static_cast<std::uint32_t>(settings->integer(OptionId::kNprocPerNode).value_or(0)), *nodes);
  REQUIRE(made);
  return *std::move(made);
}

TEST_CASE("the summary compares with both usual orders and the bound") {
  const PlacementPlan placed =
      plan({"--hosts=n[1-4]", "--nnodes=2", "--spares=1", "--topology=net.toml",
            "--nproc-per-node=2", "--traffic=dp=1GB"});
  CHECK(placement_summary(placed, 80) ==
        "Network:   net.toml: 2 leaf (80 Gbit/s each)\n"
        "Job:       4 ranks on 2 nodes of 4: dp=4\n"
        "Weights:   dp 1\n"
        "Placement: one switch, optimal (proven)\n"
        "           " +
            placed.placement.how +
            "\n"
            "Gain:      40.0 % of a step against natural order, by bandwidths and traffic, if\n"
            "           communication takes 40 % of a step\n"
            "Spares:    n2 (1)\n"
            "Not used:  n4 (1)\n"
            "Recommended spares: 0 (cover 99 % of days at 0.0012 failures per machine and day)\n"
            "\n"
            "switches touched, widest group  placed  natural order  lexicographic\n"
            "  dp groups, leaf                    0     2 (mean 2)     2 (mean 2)\n"
            "  weighted (bound: 0)                0              2              2\n"
            "network time of a step             0 s          0.1 s          0.1 s\n");
  CHECK(placement_table(placed, 80) ==
        "place  ranks  node  switches\n"
        "    0    0-1  n1    a\n"
        "    1    2-3  n3    a\n");
}

TEST_CASE("without a topology there are the natural order and its table") {
  const PlacementPlan placed = plan({"--hosts=n[1-2]"});
  CHECK(placement_summary(placed, 80) ==
        "Network:   unknown (no topology); natural order\n"
        "Job:       2 ranks on 2 nodes of 2: dp=2\n"
        "Recommended spares: 0 (cover 99 % of days at 0.0012 failures per machine and day)\n");
  CHECK(placement_table(placed, 80) ==
        "place  ranks  node\n"
        "    0      0  n1\n"
        "    1      1  n2\n");
}

TEST_CASE("many nodes share one row per switch") {
  std::string network;
  for (int leaf = 0; leaf < 10; ++leaf) {
    network += fmt::format("[[switch]]\nname = \"leaf{0}\"\nnodes = [\"n[{1}-{2}]\"]\n", leaf,
                           leaf * 10 + 1, leaf * 10 + 10);
  }
  const PlacementPlan placed = plan({"--hosts=n[1-100]", "--topology=net.toml"}, network);
  const std::string table = placement_table(placed, 80);
  CAPTURE(table);
  CHECK(
      table.starts_with("switches  nodes      places  ranks\n"
                        "leaf0     n[1-10]       0-9  0-9\n"));
  CHECK(std::ranges::count(table, '\n') == 11);
  const PlacementPlan flat = plan({"--hosts=n[1-2000]"});
  CHECK(std::ranges::count(placement_table(flat, 80), '\n') == 2);
}

TEST_CASE("pictures are of one kind of group") {
  const PlacementPlan placed = plan({"--hosts=n[1-4]", "--topology=net.toml", "--parallel=pp=2"});
  const auto text = placement_picture(placed, {});
  REQUIRE(text);
  CHECK(text->find("A the nodes of pp group 0") != std::string::npos);
  PictureStyle dp;
  dp.kind = topo::GroupKind::kDp;
  CHECK(placement_picture(placed, dp)->find("A the nodes of dp group 0") != std::string::npos);
  CHECK(placement_svg(placed, topo::GroupKind::kTp).error().what ==
        "cannot show tp groups: none of them spans nodes");
  CHECK(placement_svg(placed, std::nullopt)->starts_with("<?xml "));
}

TEST_CASE("the JSON object has everything that is known, and nothing else") {
  const PlacementPlan placed =
      plan({"--hosts=n[1-4]", "--nnodes=2", "--spares=1", "--topology=net.toml",
            "--nproc-per-node=2", "--traffic=dp=1GB"});
  CHECK(placement_json(placed, std::chrono::microseconds(412)) ==
        R"({"topology":{"source":"net.toml","levels":[{"name":"leaf","switches":2,"gbps":80}]},)"
        R"("parallel":{"tp":1,"cp":1,"ep":1,"dp":4,"pp":1,"rank_order":"tp-cp-ep-dp-pp"},)"
        R"("weights":{"dp":1},"level_weights":{"leaf":1},)"
        R"("nodes":[{"place":0,"name":"n1","first_rank":0,"slots":2,"switches":["a"]},)"
        R"({"place":1,"name":"n3","first_rank":2,"slots":2,"switches":["a"]}],"spares":["n2"],)"
        R"("cost":{"worst":0,"mean":0},"bound":0,"gap_percent":0,"method":"one switch","how":")" +
            placed.placement.how +
            R"(","spreads":[{"kind":"dp","level":"leaf","worst":0,"mean":0,"groups":1}],)"
            R"("orders":{"natural":{"worst":2,"mean":2},"lexicographic":{"worst":2,"mean":2}},)"
            R"("network_seconds":{"ours":0,"natural":0.1,"lexicographic":0.1},)"
            R"("gain_percent":40,"solve_us":412})"
            "\n");
  const std::string unknown = placement_json(plan({"--hosts=n[1-2]"}), {});
  CHECK(unknown.find("network_seconds") == std::string::npos);
  CHECK(unknown.find("gain_percent") == std::string::npos);
}

}  // namespace
}  // namespace robustrun::cli::placement_text_test
