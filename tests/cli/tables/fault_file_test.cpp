#include "cli/tables/fault_file.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <csignal>

#include "cli/options/limits.h"
#include "cli/plan/plan.h"
#include "tests/cli/fakes.h"

namespace robustrun::cli::fault_file_test {
namespace {

using supervisor::Confidence;
using supervisor::FaultRow;
using supervisor::FirstAction;
using supervisor::Layer;
using testing::World;

std::string error_of(const std::string& text) {
  const auto rows = parse_faults(text, "f.toml");
  return rows ? "no error" : rows.error().what;
}

TEST_CASE("a row with every key") {
  const auto rows = parse_faults(R"(
[[fault]]
name = "licence server is down"
symptom = "External service error"
exception = "LicenceError"
text = ["no licence", "server*late"]
xid = [79, 48]
exit = 3
signal = ["SIGKILL", "TERM", 11]
oom = true
found = "hang"
layer = "external service"
confidence = "high"
action = "roll back"
sequel = true
advice = "call ada"
)",
                                 "f.toml");
  REQUIRE(rows.has_value());
  REQUIRE(rows->size() == 1);
  const FaultRow& row = rows->front();
  CHECK(row.name == "licence server is down");
  CHECK(row.symptom == "External service error");
  CHECK(row.exceptions == std::vector<std::string>{"LicenceError"});
  CHECK(row.texts == std::vector<std::string>{"no licence", "server*late"});
  CHECK(row.xids == std::vector<std::uint32_t>{79, 48});
  CHECK(row.exits == std::vector<std::int32_t>{3});
  CHECK(row.signals == std::vector<std::int32_t>{SIGKILL, SIGTERM, SIGSEGV});
  CHECK(row.out_of_memory);
  CHECK(row.found == std::vector<std::string>{"hang"});
  CHECK(row.layer == Layer::kExternalService);
  CHECK(row.confidence == Confidence::kHigh);
  CHECK(row.action == FirstAction::kRollBack);
  CHECK(row.sequel);
  CHECK(row.advice == "call ada");
}

TEST_CASE("the default layer is unclear, and the default symptom the name") {
  const auto rows = parse_faults("[[fault]]\nname = \"odd\"\ntext = \"odd\"\n", "f.toml");
  REQUIRE(rows.has_value());
  CHECK(rows->front().symptom == "odd");
  CHECK(rows->front().layer == Layer::kUnclear);
  CHECK(rows->front().confidence == Confidence::kLow);
  CHECK(rows->front().action == FirstAction::kRestart);
}

TEST_CASE("errors name file, line and the accepted values") {
  const std::string head = "[[fault]]\nname = \"a\"\n";
  const std::string text = head + "text = \"x\"\n";
  CHECK(error_of("[[fault]\n").starts_with("f.toml:1:"));
  CHECK(error_of("[[faults]]\n") ==
        "f.toml:1:3: unknown key 'faults' (did you mean fault?); expected one of fault");
  CHECK(error_of("fault = 3\n") == "f.toml:1:1: fault must be tables: [[fault]]");
  CHECK(error_of("fault = [3]\n") == "f.toml:1:1: fault must be tables: [[fault]]");
  CHECK(error_of("[[fault]]\ntext = \"x\"\n").starts_with("f.toml:1:1: a fault needs a name"));
  CHECK(error_of(head).starts_with("f.toml:1:1: 'a' matches nothing: it needs a text"));
  CHECK(error_of(text + text) == "f.toml:4:1: the name 'a' is used twice; rename one of them");
  CHECK(error_of(head + "test = \"x\"\n").starts_with("f.toml:3:1: unknown key 'test' (did you"));
  CHECK(error_of(head + "text = \"\"\n").starts_with("f.toml:3:8: text must be a string of 1 to"));
  CHECK(error_of(head + "text = [\"x\", 3]\n").starts_with("f.toml:3:14: text must be a string"));
  CHECK(error_of(head + "text = \"**\"\n") ==
        "f.toml:3:8: a text of stars alone would match every line");
  CHECK(error_of(text + "layer = \"weather\"\n") ==
        "f.toml:4:1: layer must be one of infrastructure, user code, data, external service, "
        "unclear");
  CHECK(error_of(text + "confidence = 1\n") ==
        "f.toml:4:1: confidence must be one of high, medium, low");
  CHECK(error_of(text + "action = \"reboot\"\n") ==
        "f.toml:4:1: action must be one of evict, restart, roll back, check, tolerate, give up, "
        "replay");
  CHECK(error_of(text + "oom = 1\n") == "f.toml:4:1: oom must be true or false");
  CHECK(error_of(text + "exit = 0\n").starts_with("f.toml:4:1: exit must be a number from 1 to"));
  CHECK(
      error_of(text + "signal = \"SIGFOO\"\n").starts_with("f.toml:4:1: signal must be a signal"));
  CHECK(error_of(text + "found = \"gold\"\n") ==
        "f.toml:4:1: found must be one of hang, returning hang, mismatch, slow, jump, not a "
        "number, "
        "slower, ended early, crash at exit");
}

TEST_CASE("a file may not exceed the limits of a comparison") {
  std::string rows;
  for (std::size_t i = 0; i <= kFaultRowsMax; ++i) {
    rows += fmt::format("[[fault]]\nname = \"{}\"\nexit = 1\n", i);
  }
  CHECK(error_of(rows).ends_with("more than 512 faults"));
  std::string texts;
  for (std::size_t i = 0; i <= kFaultPatternsMax; ++i) texts += "\"x\",";
  CHECK(error_of("[[fault]]\nname = \"a\"\ntext = [" + texts + "]\n")
            .ends_with("more than 2048 texts and exceptions"));
  CHECK(error_of("[[fault]]\nname = \"a\"\ntext = \"" + std::string(kFaultTextBytesMax + 1, 'x') +
                 "\"\n")
            .starts_with("f.toml:3:8: text must be a string of 1 to 300 bytes"));
}

std::vector<FaultRow> planned(const World& world, const std::vector<std::string>& argv) {
  return plan_run(world.merge(argv).value(), argv, world.around).value().request.spec.faults;
}

TEST_CASE("without a file the built-in rows are used") {
  const World world;
  CHECK(planned(world, {"train.py"}).size() == parse_faults(built_in_faults(), "x").value().size());
}

TEST_CASE("the file beside the program replaces the built-in rows") {
  World world;
  world.machine.files["/opt/rr/share/robustrun/faults.toml"] =
      "[[fault]]\nname = \"a\"\nexit = 1\n";
  CHECK(planned(world, {"train.py"}).size() == 1);
  world.machine.files["/opt/rr/share/robustrun/faults.toml"] = "[[fault]]\nname = \"a\"\n";
  const auto made = plan_run(world.merge({"train.py"}).value(), {}, world.around);
  REQUIRE_FALSE(made.has_value());
  CHECK(made.error().what.starts_with("/opt/rr/share/robustrun/faults.toml:1:1: "));
}

TEST_CASE("rows of --faults come first, and replace those of their names") {
  World world;
  world.machine.files["/opt/rr/share/robustrun/faults.toml"] =
      "[[fault]]\nname = \"a\"\nexit = 1\n[[fault]]\nname = \"b\"\nexit = 2\n";
  world.machine.files["site.toml"] =
      "[[fault]]\nname = \"c\"\nexit = 3\n[[fault]]\nname = \"a\"\nexit = 4\n";
  const auto rows = planned(world, {"--faults=site.toml", "train.py"});
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].name == "c");
  CHECK(rows[1].name == "a");
  CHECK(rows[1].exits == std::vector<std::int32_t>{4});
  CHECK(rows[2].name == "b");
}

TEST_CASE("a missing file of faults is an error") {
  const World world;
  CHECK_FALSE(plan_run(world.merge({"--faults=none.toml", "train.py"}).value(), {}, world.around)
                  .has_value());
}

}  // namespace
}  // namespace robustrun::cli::fault_file_test
