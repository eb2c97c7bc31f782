#include "cli/options/settings.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/cli/fakes.h"

namespace robustrun::cli::settings_test {

using testing::World;

namespace {

std::string error_of(const World& world, const std::vector<std::string>& argv) {
  const auto settings = world.merge(argv);
  return settings ? "no error" : settings.error().what;
}

}  // namespace

TEST_CASE("command line beats environment, environment beats file, file beats default") {
  struct Row {
    bool line, variable, file;
    const char* text;
    Origin origin;
    const char* where;
  };
  const std::vector<Row> rows = {
      {true, true, true, "1", Origin::kCommandLine, "--max-restarts=1"},
      {true, true, false, "1", Origin::kCommandLine, "--max-restarts=1"},
      {true, false, true, "1", Origin::kCommandLine, "--max-restarts=1"},
      {true, false, false, "1", Origin::kCommandLine, "--max-restarts=1"},
      {false, true, true, "2", Origin::kEnvironment, "PET_MAX_RESTARTS=2"},
      {false, true, false, "2", Origin::kEnvironment, "PET_MAX_RESTARTS=2"},
      {false, false, true, "7", Origin::kFile, "/job/job.toml:2: max_restarts"},
      {false, false, false, "3", Origin::kDefault, ""},
  };
  for (const Row& row : rows) {
    World world;
    world.machine.files["/job/job.toml"] = row.file ? "\nmax_restarts = 7\n" : "";
    if (row.variable) world.around.environment.push_back("PET_MAX_RESTARTS=2");
    std::vector<std::string> argv{"--config", "/job/job.toml"};
    if (row.line) argv.push_back("--max-restarts=1");
    const auto settings = world.merge(argv);
    REQUIRE(settings.has_value());
    const Setting& setting = settings->get(OptionId::kMaxRestarts);
    CHECK(setting.text == row.text);
    CHECK(setting.origin == row.origin);
    CHECK(setting.where == row.where);
  }
}

TEST_CASE("every option of torchrun's that reads a PET variable does so") {
  for (const Option& row : options()) {
    const std::string variable = variable_name(row);
    if (variable.empty() || row.id == OptionId::kConfig) continue;
    World world;
    const std::string value =
        row.type == Type::kChoice
            ? std::string(row.values).substr(0, std::string(row.values).find('|'))
            : std::to_string(std::max<std::int64_t>(1, row.min));
    world.around.environment.push_back(variable + "=" + value);
    const auto settings = world.merge({"train.py"});
    INFO(variable);
    REQUIRE(settings.has_value());
    CHECK(settings->get(row.id).text == value);
    CHECK(settings->get(row.id).origin == Origin::kEnvironment);
  }
}

TEST_CASE("a flag's variable is bool(int(value))") {
  for (const auto& [value, on] :
       {std::pair("1", true), {"0", false}, {"2", true}, {" 1 ", true}, {"-1", true}}) {
    World world;
    world.around.environment.push_back(std::string("PET_STANDALONE=") + value);
    const auto settings = world.merge({"train.py"});
    INFO(value);
    REQUIRE(settings.has_value());
    CHECK(settings->flag(OptionId::kStandalone) == on);
  }
  World world;
  world.around.environment.push_back("PET_STANDALONE=true");
  CHECK(error_of(world, {"train.py"}) ==
        "cannot use PET_STANDALONE=true: this variable switches an option on and must be an "
        "integer; write PET_STANDALONE=1, or 0");
  world.around.environment.back() = "PET_NO_PYTHON=";
  CHECK(error_of(world, {"train.py"}).starts_with("cannot use PET_NO_PYTHON="));
}

TEST_CASE("an empty variable counts if it is torchrun's, and counts as unset if it is ours") {
  World world;
  world.around.environment.push_back("PET_ROLE=");
  world.around.environment.push_back("ROBUSTRUN_TIME_LIMIT=");
  const auto settings = world.merge({"train.py"});
  REQUIRE(settings.has_value());
  CHECK(settings->get(OptionId::kRole).origin == Origin::kEnvironment);
  CHECK_FALSE(settings->has(OptionId::kTimeLimit));
}

TEST_CASE("wrong values name their variable") {
  World world;
  world.around.environment.push_back("PET_MAX_RESTARTS=many");
  CHECK(error_of(world, {"train.py"}) ==
        "cannot use PET_MAX_RESTARTS=many: invalid int value: 'many'");
  CHECK(error_of(world, {"--max-restarts=1", "train.py"}) == "no error");
  world.around.environment.back() = "ROBUSTRUN_COMPAT=torch";
  CHECK(error_of(world, {"train.py"}) ==
        "cannot use ROBUSTRUN_COMPAT=torch: invalid choice: 'torch' (choose from 'native', "
        "'torchrun')");
}

TEST_CASE("called as torchrun, or with --compat=torchrun, the defaults are torchrun's") {
  World world;
  CHECK(world.merge({"s"})->text(OptionId::kMaxRestarts) == "3");
  CHECK(world.merge({"--compat=torchrun", "s"})->text(OptionId::kMaxRestarts) == "0");
  world.around.program_name = "torchrun";
  const auto settings = world.merge({"s"});
  CHECK(settings->compat());
  CHECK(settings->text(OptionId::kMaxRestarts) == "0");
  CHECK(settings->text(OptionId::kOmp) == "torchrun");
  CHECK(settings->text(OptionId::kInject) == "off");
  CHECK_FALSE(world.merge({"--compat=native", "s"})->compat());
}

TEST_CASE("variables of torchrun's agent are read when nothing else is given") {
  World world;
  world.around.environment.push_back("TORCH_ELASTIC_SHUTDOWN_TIMEOUT=5");
  world.around.environment.push_back("LOGLEVEL=WARNING");
  auto settings = world.merge({"s"});
  CHECK(settings->text(OptionId::kShutdownTimeout) == "5");
  CHECK(settings->get(OptionId::kShutdownTimeout).origin == Origin::kFallback);
  CHECK(settings->text(OptionId::kLogLevel) == "warn");
  settings = world.merge({"--shutdown-timeout=7", "--log-level=debug", "s"});
  CHECK(settings->text(OptionId::kShutdownTimeout) == "7");
  CHECK(settings->text(OptionId::kLogLevel) == "debug");
  // Many programs read LOGLEVEL, with their own values.
  world.around.environment.back() = "LOGLEVEL=trace9";
  CHECK(world.merge({"s"})->text(OptionId::kLogLevel) == "info");
  world.around.environment.push_back("TORCH_ELASTIC_SHUTDOWN_TIMEOUT=x");
  world.around.environment.erase(world.around.environment.end() - 3);
  CHECK(error_of(world, {"s"}).starts_with("cannot use TORCH_ELASTIC_SHUTDOWN_TIMEOUT=x: "));
}

TEST_CASE("a script on the command line replaces the file's, with its arguments") {
  World world;
  world.machine.files["j.toml"] = "script = 'a.py'\nargs = ['--x']\n";
  auto settings = world.merge({"-c", "j.toml"});
  CHECK(settings->script == "a.py");
  CHECK(settings->arguments == std::vector<std::string>{"--x"});
  CHECK(settings->script_origin == Origin::kFile);
  settings = world.merge({"-c", "j.toml", "b.py"});
  CHECK(settings->script == "b.py");
  CHECK(settings->arguments.empty());
}

TEST_CASE("a configuration that cannot be read says why") {
  World world;
  CHECK(error_of(world, {"-c", "no.toml", "s"}) ==
        "cannot read the configuration no.toml: No such file or directory; check --config");
  world.machine.kinds["dir"] = PathKind::kDirectory;
  CHECK(error_of(world, {"-c", "dir", "s"}).find("it is a directory") != std::string::npos);
  world.machine.kinds["secret"] = PathKind::kUnreadableFile;
  CHECK(error_of(world, {"-c", "secret", "s"}).find("permission denied") != std::string::npos);
  world.machine.files["bad.toml"] = "tee = \n";
  CHECK(error_of(world, {"-c", "bad.toml", "s"}).starts_with("bad.toml:1:"));
  world.around.environment.push_back("ROBUSTRUN_CONFIG=bad.toml");
  CHECK(error_of(world, {"s"}).starts_with("bad.toml:1:"));
}

}  // namespace robustrun::cli::settings_test
