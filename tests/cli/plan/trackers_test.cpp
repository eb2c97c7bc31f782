// --trackers: what workers and outlets get, where ids are kept, and what is refused.
#include "cli/plan/trackers.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "cli/plan/plan.h"
#include "tests/cli/fakes.h"

namespace robustrun::cli::trackers_test {
namespace {

using testing::World;

base::Result<RunPlan> planned(const World& world, std::vector<std::string> argv) {
  argv.emplace_back("train.py");
  const auto settings = world.merge(argv);
  REQUIRE(settings);
  return plan_run(*settings, argv, world.around);
}

std::string state_of(const RunPlan& plan) {
  const std::string name = "ROBUSTRUN_TRACKER_STATE=";
  for (const std::string& entry : plan.request.workers.environment) {
    if (entry.starts_with(name)) return entry.substr(name.size());
  }
  return "(unset)";
}

std::string refusal(const std::string& value) {
  const auto plan = planned(World{}, {"--trackers=" + value});
  return plan ? "no error" : plan.error().what;
}

TEST_CASE("workers get the words and the folder, outlets the incidents' file") {
  const World world;
  const auto both = planned(world, {"--trackers=annotate, resume", "--run-dir=/runs/a"});
  REQUIRE(both);
  CHECK(state_of(*both) == "resume,annotate:/runs/a/trackers");
  CHECK(both->request.outlets.incidents_file == "/runs/a/trackers/incidents.jsonl");
  const auto one = planned(world, {"--trackers=resume", "--run-dir=/runs/a"});
  REQUIRE(one);
  CHECK(state_of(*one) == "resume:/runs/a/trackers");
  CHECK(one->request.outlets.incidents_file.empty());
  const auto none = planned(world, {"--run-dir=/runs/a"});
  REQUIRE(none);
  CHECK(state_of(*none) == "(unset)");
}

TEST_CASE("an outer run's state does not reach the workers") {
  World world;
  world.around.environment.emplace_back("ROBUSTRUN_TRACKER_STATE=resume:/outer");
  const auto plan = planned(world, {});
  REQUIRE(plan);
  CHECK(state_of(*plan) == "(unset)");
}

TEST_CASE("other words are refused") {
  CHECK(refusal("resume,anotate") ==
        "cannot use --trackers=resume,anotate: 'anotate': expected resume, annotate or both (did "
        "you mean annotate?)");
  CHECK(refusal("wandb").find("'wandb': expected resume, annotate or both") != std::string::npos);
}

TEST_CASE("without the boot module the option warns") {
  for (const std::vector<std::string>& argv :
       {std::vector<std::string>{"--trackers=resume", "--inject=off"},
        std::vector<std::string>{"--trackers=resume", "--no-python"}}) {
    const auto plan = planned(World{}, argv);
    REQUIRE(plan);
    CHECK(state_of(*plan) == "(unset)");
    CHECK(std::ranges::any_of(plan->warnings, [](const std::string& warning) {
      return warning.starts_with("--trackers=resume has no effect");
    }));
  }
}

TEST_CASE("a requeued job keeps ids in the folder of its first start that is there") {
  World world;
  const auto folder = [&](const std::string& run, const std::string& id = "") {
    return tracker_folder("/runs/" + run, id, world.around);
  };
  world.machine.kinds["/runs/slurm-7"] = PathKind::kDirectory;
  CHECK(folder("slurm-7-2") == "/runs/slurm-7-2/trackers");  // no Slurm job
  world.around.environment.emplace_back("SLURM_JOB_ID=7");
  CHECK(folder("slurm-7") == "/runs/slurm-7/trackers");
  CHECK(folder("slurm-7-2") == "/runs/slurm-7-2/trackers");  // its first start
  world.around.environment.emplace_back("SLURM_RESTART_COUNT=2");
  CHECK(folder("slurm-7-2") == "/runs/slurm-7/trackers");
  CHECK(folder("slurm-8-2") == "/runs/slurm-8-2/trackers");  // no earlier start has left a folder
  world.machine.kinds["/runs/slurm-8-1"] = PathKind::kDirectory;
  CHECK(folder("slurm-8-2") == "/runs/slurm-8-1/trackers");
  world.machine.kinds["/runs/mine"] = PathKind::kDirectory;
  CHECK(folder("mine-20260801-101500-1234", "mine") == "/runs/mine/trackers");
  CHECK(folder("mine-20260801-101500-1234") == "/runs/mine-20260801-101500-1234/trackers");
}

}  // namespace
}  // namespace robustrun::cli::trackers_test
