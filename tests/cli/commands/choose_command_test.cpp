#include <doctest/doctest.h>

#include "cli/commands/commands.h"
#include "tests/cli/fakes.h"

namespace robustrun::cli::choose_command_test {

using testing::World;
using Words = std::vector<std::string>;

TEST_CASE("the first word chooses the subcommand, and is taken away") {
  World world;
  const Words report{"report", "--json"};
  CHECK(choose_command(report, world.around).command == Command::kReport);
  CHECK(choose_command(report, world.around).argv.size() == 1);
  CHECK(choose_command(Words{"status"}, world.around).command == Command::kStatus);
  CHECK(choose_command(Words{"stop"}, world.around).command == Command::kStop);
  CHECK(choose_command(Words{"attach"}, world.around).command == Command::kAttach);
  CHECK(choose_command(Words{"help"}, world.around).command == Command::kHelp);
  CHECK(choose_command(Words{"version"}, world.around).command == Command::kVersion);
  CHECK(choose_command(Words{"check", "--nnodes=2"}, world.around).command == Command::kCheck);
  CHECK(choose_command(Words{"plan", "--json"}, world.around).command == Command::kPlan);
  CHECK(choose_command(Words{"diagnose", "--from", "x"}, world.around).command ==
        Command::kDiagnose);
  CHECK(choose_command(Words{"update", "run1"}, world.around).command == Command::kUpdate);
  CHECK(choose_command(Words{"ckpt", "ls", "d"}, world.around).command == Command::kCkpt);
  CHECK(choose_command(Words{"sim", "--nodes", "8"}, world.around).command == Command::kSim);
  CHECK(choose_command(Words{"doctor"}, world.around).command == Command::kDoctor);
  CHECK(choose_command(Words{"completion", "bash"}, world.around).command == Command::kCompletion);
  const Words run{"run", "train.py"};
  CHECK(choose_command(run, world.around).command == Command::kRun);
  CHECK(choose_command(run, world.around).argv.size() == 1);
  const Words script{"train.py", "report"};
  CHECK(choose_command(script, world.around).command == Command::kRun);
  CHECK(choose_command(script, world.around).argv.size() == 2);
  CHECK(choose_command(Words{}, world.around).command == Command::kRun);
}

TEST_CASE("a script of the same name wins over the subcommand") {
  World world;
  world.machine.files["/job/report"] = "";
  const Words report{"report", "x"};
  CHECK(choose_command(report, world.around).command == Command::kRun);
  CHECK(choose_command(report, world.around).argv.size() == 2);
}

TEST_CASE("what another user put there, or what cannot be read, does not win") {
  World world;
  const Words report{"report", "x"};
  world.machine.files["/job/report"] = "";
  world.machine.of_others = {"/job/report"};
  CHECK(choose_command(report, world.around).command == Command::kReport);
  CHECK(choose_command(report, world.around).passed_over ==
        "report in this directory belongs to another user and is not started; `robustrun "
        "./report` starts it");
  world.machine.files.clear();
  world.machine.of_others.clear();
  world.machine.kinds["/job/report"] = PathKind::kUnreadableFile;
  CHECK(choose_command(report, world.around).command == Command::kReport);
  CHECK(choose_command(report, world.around).passed_over ==
        "report in this directory cannot be read and is not started");
  world.machine.kinds["/job/report"] = PathKind::kSocket;
  CHECK(choose_command(report, world.around).command == Command::kReport);
  CHECK(choose_command(report, world.around).passed_over.empty());
}

TEST_CASE("a folder of the same name wins only where Python would run it") {
  World world;
  world.machine.kinds["/job/cache"] = PathKind::kDirectory;
  const Words cache{"cache", "ls"};
  CHECK(choose_command(cache, world.around).command == Command::kCache);
  world.machine.files["/job/cache/__main__.py"] = "";
  CHECK(choose_command(cache, world.around).command == Command::kRun);
}

TEST_CASE("called as torchrun there are no subcommands") {
  World world;
  world.around.program_name = "torchrun";
  CHECK(choose_command(Words{"version"}, world.around).command == Command::kRun);
}

}  // namespace robustrun::cli::choose_command_test
