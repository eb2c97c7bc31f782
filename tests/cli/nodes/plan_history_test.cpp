#include "cli/nodes/history.h"

#include <doctest/doctest.h>

#include "tests/cli/fakes.h"

namespace robustrun::cli::plan_history_test {

using supervisor::NodeNote;
using supervisor::NoteKind;
using testing::World;

namespace {

constexpr const char* kFolder = "/home/ada/.local/state/robustrun/nodes";

// `host` was lost in this many runs, yesterday.
void lose(World& world, const std::string& host, int runs, const std::string& folder = kFolder) {
  for (int i = 0; i < runs; ++i) {
    world.machine.notes[folder].push_back({host, world.around.wall_time - std::chrono::days(1),
                                           host + std::to_string(i), NoteKind::kLost, "gone"});
  }
}

NodesPlan plan_of(const World& world, std::vector<std::string> argv) {
  argv.emplace_back("s");
  const auto settings = world.merge(argv);
  REQUIRE(settings);
  auto plan = plan_nodes(*settings, world.around);
  REQUIRE(plan);
  return *std::move(plan);
}

std::string hosts_of(const NodesPlan& plan) {
  std::string text;
  for (const launcher::Host& host : plan.hosts) text += (text.empty() ? "" : " ") + host.name;
  return text;
}

}  // namespace

TEST_CASE("a host that was lost in two runs is taken last, with a warning") {
  World world;
  lose(world, "n1", 2);
  lose(world, "n2", 1);
  const NodesPlan plan = plan_of(world, {"--hosts=n[1-4]", "--spares=1"});
  CHECK(hosts_of(plan) == "n2 n3 n4 n1");
  CHECK(plan.offenders == std::set<std::string>{"n1"});
  CHECK(plan.history == kFolder);
  REQUIRE(plan.warnings.size() == 1);
  CHECK(plan.warnings[0] ==
        "n1 has failed earlier runs (lost in 2 runs), and is taken last; `robustrun nodes n1` "
        "shows more");
}

TEST_CASE("where every host is needed none is left out") {
  World world;
  lose(world, "n1", 3);
  const NodesPlan plan = plan_of(world, {"--hosts=n[1-2]"});
  CHECK(hosts_of(plan) == "n1 n2");
  REQUIRE(plan.warnings.size() == 1);
  CHECK(plan.warnings[0].find("no other host can replace it") != std::string::npos);
}

TEST_CASE("a host beyond --nnodes that is needed instead comes in") {
  World world;
  lose(world, "n2", 2);
  const NodesPlan plan = plan_of(world, {"--hosts=n[1-3]", "--nnodes=2", "--spares=0"});
  CHECK(hosts_of(plan) == "n1 n3");
  REQUIRE(plan.unused.size() == 1);
  CHECK(plan.unused[0].name == "n2");
}

TEST_CASE("--rank0 is the user's choice") {
  World world;
  lose(world, "n2", 2);
  const NodesPlan plan = plan_of(world, {"--hosts=n[1-3]", "--rank0=n2", "--spares=1"});
  CHECK(hosts_of(plan) == "n2 n1 n3");
}

TEST_CASE("the folder is the given one, or in the user's state folder") {
  World world;
  CHECK(history_folder("auto", world.around) == kFolder);
  CHECK(history_folder("/site/nodes", world.around) == "/site/nodes");
  CHECK(history_folder("nodes", world.around) == "/job/nodes");
  CHECK(history_folder("off", world.around).empty());
  world.around.environment.push_back("XDG_STATE_HOME=/state");
  CHECK(history_folder("auto", world.around) == "/state/robustrun/nodes");
  world.around.environment = {"XDG_STATE_HOME=relative"};
  CHECK(history_folder("auto", world.around).empty());
}

TEST_CASE("switched off, or on this machine alone, nothing is read and nothing kept") {
  World world;
  lose(world, "n1", 2);
  lose(world, "node7", 2);
  const NodesPlan off = plan_of(world, {"--hosts=n[1-2]", "--spares=1", "--node-history=off"});
  CHECK(hosts_of(off) == "n1 n2");
  CHECK(off.history.empty());
  const NodesPlan here = plan_of(world, {});
  CHECK(here.history.empty());
  CHECK(here.warnings.empty());
}

}  // namespace robustrun::cli::plan_history_test
