#include "cli/options/config_file.h"
#include "tests/paths.h"

#include <doctest/doctest.h>

#include <fstream>
#include <iterator>

namespace robustrun::cli::config_file_test {
namespace {

std::string error_of(std::string_view text) {
  const auto config = parse_config(text, "job.toml");
  return config ? "no error" : config.error().what;
}

std::string text_of(const FileConfig& config, OptionId id) {
  for (const FileValue& value : config.values) {
    if (value.id == id) return value.text;
  }
  return "none";
}

}  // namespace

TEST_CASE("every type of option has a form in TOML") {
  const auto config = parse_config(R"(
script = "train.py"
args = ["--lr", 3]
nproc_per_node = 8
nnodes = "1:1"
module = false
standalone = true
max-restarts = 5
monitor_interval = 1
restart_window = "30m"
shutdown_timeout = 2.5
signals_to_handle = ["SIGTERM", "SIGINT"]
local_ranks_filter = [0, 2]
duplicate_stdout_filters = ["loss, step", "eval"]
redirects = "0:1"
tee = 3
color = "never"
)",
                                   "job.toml");
  REQUIRE(config.has_value());
  CHECK(config->script == "train.py");
  CHECK(config->arguments == std::vector<std::string>{"--lr", "3"});
  CHECK(text_of(*config, OptionId::kNprocPerNode) == "8");
  CHECK(text_of(*config, OptionId::kNnodes) == "1:1");
  CHECK(text_of(*config, OptionId::kModule) == "0");
  CHECK(text_of(*config, OptionId::kStandalone) == "1");
  CHECK(text_of(*config, OptionId::kMaxRestarts) == "5");
  CHECK(text_of(*config, OptionId::kMonitorInterval) == "1");
  CHECK(text_of(*config, OptionId::kRestartWindow) == "30m");
  CHECK(text_of(*config, OptionId::kShutdownTimeout) == "2.5");
  CHECK(text_of(*config, OptionId::kSignalsToHandle) == "SIGTERM,SIGINT");
  CHECK(text_of(*config, OptionId::kLocalRanksFilter) == "0,2");
  CHECK(text_of(*config, OptionId::kDuplicateStdoutFilters) == "loss,, step,eval");
  CHECK(text_of(*config, OptionId::kRedirects) == "0:1");
  CHECK(text_of(*config, OptionId::kTee) == "3");
  CHECK(text_of(*config, OptionId::kColour) == "never");
  CHECK(config->values.front().where.starts_with("job.toml:"));
}

TEST_CASE("errors name file, line, column and key, and the nearest key") {
  struct Row {
    const char* text;
    const char* error;
  };
  const std::vector<Row> rows = {
      {"tee = 3\nnproc_per_nod = 2\n",
       "job.toml:2:1: unknown key 'nproc_per_nod' (did you mean "
       "nproc_per_node?)"},
      {"nproc-per-nod = 2\n", "unknown key 'nproc-per-nod' (did you mean nproc_per_node?)"},
      {"[job]\ntee = 3\n", "job.toml:1:2: unknown key 'job'"},
      {"max_restarts = \"3\"\n", "job.toml:1:1: max_restarts must be an integer, not a string"},
      {"max_restarts = 3.5\n", "must be an integer, not a decimal fraction"},
      {"max_restarts = -1\n", "job.toml:1:1: max_restarts: must be between 0 and 1000000: '-1'"},
      {"master_port = 70000\n", "master_port: must be between 0 and 65535: '70000'"},
      {"standalone = 1\n", "standalone must be true or false, not an integer"},
      {"role = 1\n", "role must be a string, not an integer"},
      {"nproc_per_node = true\n", "must be a string or an integer, not a boolean"},
      {"nproc_per_node = [1]\n", "must be a string or an integer, not an array"},
      {"restart_window = \"soon\"\n", "restart_window: invalid time: 'soon'"},
      {"restart_window = -1\n", "restart_window: invalid time: '-1'"},
      {"time_limit = inf\n", "time_limit: invalid time: 'inf'"},
      {"start_method = \"thread\"\n", "start_method: invalid choice: 'thread'"},
      {"duplicate_stdout_filters = [1]\n", "duplicate_stdout_filters must be an array of strings"},
      {"duplicate_stdout_filters = [\",x\"]\n", "that do not begin with a comma"},
      {"signals_to_handle = [\"SIGTERM\", true]\n", "must be a string or an array"},
      {"tee = 1\ntee = 2\n", "job.toml:2:"},
      {"max_restarts = 1\nmax-restarts = 2\n", "job.toml:2:1: max-restarts is given twice"},
      {"tee = \n", "job.toml:1:"},
      {"args = [\"x\"]\n", "job.toml: args needs script"},
      {"script = 3\n", "job.toml:1:1: script must be a string, not an integer"},
      {"script = \"a\"\nargs = \"x\"\n", "job.toml:2:1: args must be an array of strings"},
      {"config = \"other.toml\"\n", "unknown key 'config'"},
      {"dry_run = true\n", "unknown key 'dry_run'"},
      {"role = 1979-05-27\n", "not a date or time"},
      {"role = \"\xff\"\n", "job.toml:1:"},
      {"[# A", "job.toml:1:"},
      {"\xC3\xA4 = 1\n", "job.toml:1:"},
      {"tee = 1\nG\xEF\xB7\xB7 ", "job.toml:2:"},
  };
  for (const Row& row : rows) {
    INFO(row.text);
    const std::string error = error_of(row.text);
    CAPTURE(error);
    CHECK(error.find(row.error) != std::string::npos);
  }
}

TEST_CASE("other characters, a byte order mark among them, are read") {
  const auto config =
      parse_config("\xEF\xBB\xBFrole = \"\xC3\xA4 \xEF\xBF\xBD \\uFB50\"\n", "job.toml");
  REQUIRE(config.has_value());
  CHECK(text_of(*config, OptionId::kRole) == "\xC3\xA4 \xEF\xBF\xBD \xEF\xAD\x90");
}

TEST_CASE("an empty file sets nothing") {
  const auto config = parse_config("# nothing\n", "job.toml");
  REQUIRE(config.has_value());
  CHECK(config->values.empty());
  CHECK_FALSE(config->script.has_value());
}

TEST_CASE("the shipped example is valid") {
  std::ifstream file(in_source("configs/job.toml"));
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  REQUIRE_FALSE(text.empty());
  const auto config = parse_config(text, "configs/job.toml");
  if (!config) FAIL(config.error().what);
  CHECK(config->script.has_value());
}

}  // namespace robustrun::cli::config_file_test
