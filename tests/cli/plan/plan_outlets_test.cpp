#include "cli/plan/outlets.h"

#include <doctest/doctest.h>

#include "tests/cli/fakes.h"

namespace robustrun::cli::plan_outlets_test {
namespace {

using testing::World;

base::Result<supervisor::OutletPlan> outlets(const World& world, std::vector<std::string> argv) {
  argv.emplace_back("train.py");
  return plan_outlets(world.merge(argv).value(), world.around);
}

std::string refusal(const World& world, const std::string& option) {
  const auto made = outlets(world, {option});
  return made ? "no error" : made.error().what;
}

TEST_CASE("a run has no outlets by default") {
  World world;
  const auto plan = outlets(world, {});
  REQUIRE(plan);
  CHECK(plan->metrics_address.empty());
  CHECK(plan->metrics_file.empty());
  CHECK(plan->events_file.empty());
  CHECK(plan->events_fd == -1);
  CHECK(plan->on_incident.empty());
}

TEST_CASE("a port alone is for this machine alone; a host in front names another address") {
  World world;
  const auto at = [&](const std::string& value) {
    const auto plan = outlets(world, {"--metrics-port=" + value});
    return plan ? plan->metrics_address + " " + std::to_string(plan->metrics_port)
                : plan.error().what;
  };
  CHECK(at("9400") == "127.0.0.1 9400");
  CHECK(at("0") == "127.0.0.1 0");
  CHECK(at("0.0.0.0:9400") == "0.0.0.0 9400");
  CHECK(at("[fd00::7]:9400") == "fd00::7 9400");
  CHECK(at("node1:80") == "10.0.0.1 80");
  for (const char* bad : {"x", "65536", "-1", "", ":", "10.0.0.7:", "10.0.0.7:x", "nowhere:80"}) {
    INFO(bad);
    CHECK(at(bad).starts_with(std::string("cannot use --metrics-port=") + bad + ": "));
  }
}

TEST_CASE("files are relative to the working directory, and their folders must exist") {
  World world;
  world.machine.kinds["/job"] = PathKind::kDirectory;
  const auto plan = outlets(world, {"--metrics-file=run.prom", "--events=ev.jsonl"});
  REQUIRE(plan);
  CHECK(plan->metrics_file == "/job/run.prom");
  CHECK(plan->events_file == "/job/ev.jsonl");
  CHECK(refusal(world, "--metrics-file=/none/x") ==
        "cannot use --metrics-file=/none/x: there is no directory /none; make it first");
  CHECK(refusal(world, "--events=/none/x").find("no directory /none") != std::string::npos);
}

TEST_CASE("a descriptor must be open, and not of a detached run") {
  World world;
  world.machine.kinds["/proc/self/fd/7"] = PathKind::kOther;
  CHECK(outlets(world, {"--events=fd:7"})->events_fd == 7);
  CHECK(refusal(world, "--events=fd:8").find("descriptor 8 is not open") != std::string::npos);
  for (const char* bad : {"--events=fd:", "--events=fd:x", "--events=fd:-1"}) {
    CHECK(refusal(world, bad).find("expected the number of a descriptor") != std::string::npos);
  }
  const auto detached = outlets(world, {"--events=fd:7", "--detach"});
  REQUIRE_FALSE(detached);
  CHECK(detached.error().what.find("keeps no descriptor") != std::string::npos);
}

TEST_CASE("a command is split into words, and found before anything starts") {
  World world;
  world.machine.executables.insert("/usr/bin/page-me");
  const auto plan = outlets(world, {"--on-incident=page-me --to 'ops team' $HOME;x"});
  REQUIRE(plan);
  CHECK(plan->on_incident ==
        std::vector<std::string>{"/usr/bin/page-me", "--to", "ops team", "$HOME;x"});
  CHECK(refusal(world, "--on-incident=nosuch").starts_with("cannot use --on-incident=nosuch: "));
  CHECK(refusal(world, "--on-incident='open").starts_with("cannot use --on-incident='open: "));
}

TEST_CASE("a bad node is told to a command, or to Slurm") {
  using Action = supervisor::BadNodePlan::Action;
  World world;
  world.machine.executables = {"/usr/bin/tell", "/usr/bin/scontrol"};
  CHECK(outlets(world, {})->on_bad_node.action == Action::kNone);
  const auto command = outlets(world, {"--on-bad-node=tell 'the site'"});
  REQUIRE(command);
  CHECK(command->on_bad_node.action == Action::kCommand);
  CHECK(command->on_bad_node.argv == std::vector<std::string>{"/usr/bin/tell", "the site"});
  const auto drain = outlets(world, {"--on-bad-node=slurm-drain"});
  REQUIRE(drain);
  CHECK(drain->on_bad_node.action == Action::kDrain);
  CHECK(drain->on_bad_node.argv == std::vector<std::string>{"/usr/bin/scontrol", "update"});
  CHECK(refusal(world, "--on-bad-node=slurm-comment") ==
        "cannot use --on-bad-node=slurm-comment: this is no Slurm job (SLURM_JOB_ID is not set)");
  world.around.environment.emplace_back("SLURM_JOB_ID=7");
  CHECK(outlets(world, {"--on-bad-node=slurm-comment"})->on_bad_node.job == "7");
  world.machine.executables = {};
  CHECK(refusal(world, "--on-bad-node=slurm-drain").starts_with("cannot use --on-bad-node"));
}

}  // namespace
}  // namespace robustrun::cli::plan_outlets_test
