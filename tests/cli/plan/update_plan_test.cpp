#include "cli/plan/update_plan.h"

#include <doctest/doctest.h>

#include "tests/cli/fakes.h"

namespace robustrun::cli::update_plan_test {
namespace {

using testing::World;
using Words = std::vector<std::string>;
using std::chrono::hours;
using std::chrono::minutes;

base::Result<UpdatePlan> plan(const Words& words) {
  const auto line = parse_update_line(words);
  if (!line) return std::unexpected(line.error());
  return plan_update(*line);
}

std::string refusal(const Words& words) {
  const auto made = plan(words);
  if (made) return "no error";
  CHECK(made.error().code == base::Errc::kInvalidArgument);
  return made.error().what;
}

TEST_CASE("a line of update sets what changes, and when") {
  const auto made = plan({"--env", "LR=0.1", "run1", "--env", "API_KEY=x=y", "--unset", "DEBUG",
                          "--within", "15m", "--args", "--now", "--token", "z", ""});
  REQUIRE(made);
  const supervisor::VersionContent& changes = made->update.changes;
  CHECK(changes.environment == Words{"LR=0.1", "API_KEY=x=y"});
  CHECK(changes.unset == Words{"DEBUG"});
  CHECK(changes.has_arguments);
  CHECK(changes.arguments == Words{"--now", "--token", "z", ""});
  CHECK(made->update.words ==
        Words{"env LR=0.1", "env API_KEY=***", "unset DEBUG", "arguments --now --token *** "});
  CHECK_FALSE(made->order.now);
  CHECK(made->order.within == minutes(15));
  CHECK(parse_update_line(Words{"run1", "--env", "A=1"})->run == "run1");
  CHECK(plan({"--env", "A=1"})->order.within == hours(24));
  CHECK(plan({"--env", "A=1", "--within", "0"})->order.within == base::Nanos{});
  const auto now = plan({"--now", "--args"});
  REQUIRE(now);
  CHECK(now->order.now);
  CHECK(now->order.within == base::Nanos{});
  CHECK(now->update.changes.has_arguments);
  CHECK(now->update.words == Words{"no arguments"});
}

TEST_CASE("--rollback takes a number or none") {
  CHECK_FALSE(plan({"run1", "--rollback"})->order.back_to);
  CHECK(plan({"--rollback", "3", "run1", "--now"})->order.back_to == 3U);
  CHECK(parse_update_line(Words{"--rollback", "run1"})->run == "run1");
  CHECK(refusal({"--rollback", "-1"}) == "argument --rollback: invalid version");
  CHECK(refusal({"--rollback", "--env", "A=1"}).starts_with("argument --rollback: not allowed"));
}

TEST_CASE("impossible updates are refused before any run is asked") {
  CHECK(refusal({}).starts_with("one of the arguments --code"));
  CHECK(refusal({"--now"}).starts_with("one of the arguments --code"));
  CHECK(refusal({"--env", "LR"}).find("NAME=VALUE") != std::string::npos);
  CHECK(refusal({"--env", "=1"}).find("NAME=VALUE") != std::string::npos);
  CHECK(refusal({"--env", "LOCAL_RANK=1"}).starts_with("LOCAL_RANK is set by robustrun"));
  CHECK(refusal({"--unset", "TORCHELASTIC_X"}).starts_with("TORCHELASTIC_X is set by"));
  CHECK(refusal({"--code-root", "x", "--env", "A=1"}).find("--code") != std::string::npos);
  CHECK(refusal({"--env", "A=1", "--now", "--within", "1h"}).find("--within") != std::string::npos);
  CHECK(refusal({"--env", "A=1", "--within", "1y"}).find("invalid time") != std::string::npos);
  CHECK(refusal({"--force"}) != "no error");
}

struct Code {
  Code() {
    workers.program = "src/train.py";
    workers.working_directory = "/job";
    world.machine.kinds["/new"] = PathKind::kDirectory;
    world.machine.files["/new/src/train.py"] = "";
    world.machine.files["/new/train.py"] = "";
  }
  base::Result<UpdatePlan> plan(const Words& words) {
    const auto line = parse_update_line(words);
    REQUIRE(line);
    UpdatePlan plan = plan_update(*line).value();
    const base::Status planned = plan_code(*line, workers, world.around, plan);
    if (planned) return plan;
    return std::unexpected(planned.error());
  }
  World world;
  wire::WorkerTemplate workers;
};

TEST_CASE("new code replaces the working directory, or --code-root") {
  Code code;
  CHECK(code.plan({"--code", "/new"})->update.changes.script == "src/train.py");
  CHECK(code.plan({"--code", "../new/."})->code == "/new");
  CHECK(code.plan({"--code", "/new", "--code-root", "src"})->update.changes.script == "train.py");
  code.workers.program = "/elsewhere/train.py";
  CHECK(code.plan({"--code", "/new"})->update.changes.script == "train.py");
}

TEST_CASE("code that cannot be used is refused") {
  Code code;
  const auto trouble = [&](const Words& words) { return code.plan(words).error().what; };
  CHECK(trouble({"--code", "/none"}).find("not a folder") != std::string::npos);
  CHECK(trouble({"--code", "/new/train.py"}).find("not a folder") != std::string::npos);
  CHECK(trouble({"--code", "/new", "--code-root", "/other"}).find("not below") !=
        std::string::npos);
  code.world.machine.files.erase("/new/src/train.py");
  CHECK(trouble({"--code", "/new"}).find("it lacks the run's script src/train.py") !=
        std::string::npos);
  code.workers.program = "train_${local_rank}.py";
  CHECK(trouble({"--code", "/new"}).find("a different file for each") != std::string::npos);
  code.workers.mode = wire::LaunchMode::kModule;
  CHECK(trouble({"--code", "/new"}).find("for scripts") != std::string::npos);
}

}  // namespace
}  // namespace robustrun::cli::update_plan_test
