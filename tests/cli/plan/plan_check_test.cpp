#include "cli/plan/check.h"

#include <doctest/doctest.h>

#include "tests/cli/fakes.h"

namespace robustrun::cli::plan_check_test {

using supervisor::PreflightDepth;
using testing::World;
using Argv = std::vector<std::string>;

namespace {

RunPlan plan(const World& world, Argv argv) {
  argv.emplace_back("train.py");
  return plan_run(world.merge(argv).value(), argv, world.around).value();
}

PreflightDepth depth(const Argv& argv) { return plan(World(), argv).request.spec.preflight; }

}  // namespace

TEST_CASE("several nodes are checked by default, a single one on request") {
  CHECK(depth({}) == PreflightDepth::kOff);
  CHECK(depth({"--hosts=node7"}) == PreflightDepth::kOff);
  CHECK(depth({"--hosts=localhost"}) == PreflightDepth::kOff);
  CHECK(depth({"--hosts=a,b"}) == PreflightDepth::kFast);
  CHECK(depth({"--hosts=a,b", "--nnodes=1"}) == PreflightDepth::kFast);
  CHECK(depth({"--launcher=processes", "--nnodes=3"}) == PreflightDepth::kFast);
  CHECK(depth({"--launcher=processes", "--nnodes=1"}) == PreflightDepth::kOff);
  CHECK(depth({"--nnodes=2", "--rdzv-backend=c10d", "--rdzv-endpoint=node1", "--insecure-rdzv"}) ==
        PreflightDepth::kFast);
  CHECK(depth({"--hosts=a,b", "--preflight=off"}) == PreflightDepth::kOff);
  CHECK(depth({"--hosts=a,b", "--preflight=full"}) == PreflightDepth::kFull);
  CHECK(depth({"--preflight=fast"}) == PreflightDepth::kFast);
  CHECK(depth({"--preflight=gpu"}) == PreflightDepth::kGpu);
  CHECK(depth({"--launcher=processes", "--nnodes=3", "--compat=torchrun"}) == PreflightDepth::kOff);
}

TEST_CASE("a check inspects where a run would write, makes nothing there, and takes any node") {
  const World world;
  const Argv argv{"--hosts=a,b"};
  RunPlan made = plan(world, argv);
  const std::string logs = made.request.workers.log_directory;
  CHECK(logs.starts_with("/job/robustrun-runs/"));
  make_it_a_check(world.merge({"--hosts=a,b", "train.py"}).value(), world.around, made);
  CHECK(made.request.spec.check_only);
  CHECK(made.request.spec.preflight == PreflightDepth::kFast);
  CHECK(made.request.spec.group.min_nodes == 1);
  CHECK(made.request.spec.group.max_nodes == 2);
  CHECK(made.request.workers.log_directory == logs);
  CHECK(made.places.log_directory.empty());
  CHECK(made.places.private_root == "/tmp/robustrun-1000");
  CHECK(made.request.run_directory.starts_with("/tmp/robustrun-1000/runs/check-"));
  CHECK(made.places.run_directory == made.request.run_directory);
  CHECK_FALSE(made.request.print_report);

  RunPlan kept = plan(world, {"--run-dir=/job/mine", "--preflight=full"});
  make_it_a_check(world.merge({"--run-dir=/job/mine", "train.py"}).value(), world.around, kept);
  CHECK(kept.request.run_directory == "/job/mine");
  CHECK(kept.request.spec.preflight == PreflightDepth::kFull);
}

TEST_CASE("--gpu makes a check one of GPUs, whatever --preflight says") {
  const World world;
  for (const Argv& argv : {Argv{"--gpu"}, Argv{"--gpu", "--preflight=off"}}) {
    RunPlan made = plan(world, argv);
    Argv words = argv;
    words.emplace_back("train.py");
    make_it_a_check(world.merge(words).value(), world.around, made);
    CHECK(made.request.spec.preflight == PreflightDepth::kGpu);
  }
}

TEST_CASE("a check is never detached") {
  const World world;
  const Argv argv{"--hosts=a,b", "--detach"};
  RunPlan made = plan(world, argv);
  CHECK_FALSE(made.request.console_log.empty());
  const auto before = made.warnings.size();
  make_it_a_check(world.merge({"--hosts=a,b", "--detach", "train.py"}).value(), world.around, made);
  CHECK(made.request.console_log.empty());
  REQUIRE(made.warnings.size() == before + 1);
  CHECK(made.warnings.back() == "--detach has no effect: a check prints its table here");
}

TEST_CASE("a check needs no script") {
  World world;
  auto settings = world.merge({"--hosts=a,b"}).value();
  settings.script = "";
  const Argv argv{"--hosts=a,b"};
  CHECK(plan_run(settings, argv, world.around).has_value());
  auto program = world.merge({"--no-python"}).value();
  program.script = "";
  CHECK(plan_run(program, argv, world.around).has_value());
}

TEST_CASE("a check has no outlets") {
  const World world;
  const Argv argv{"--metrics-port=9400"};
  RunPlan made = plan(world, argv);
  REQUIRE(made.request.outlets.metrics_port == 9400);
  make_it_a_check(world.merge({"--metrics-port=9400", "train.py"}).value(), world.around, made);
  CHECK(made.request.outlets.metrics_address.empty());
}

}  // namespace robustrun::cli::plan_check_test
