#include "cli/options/print_config.h"

#include <doctest/doctest.h>

#include "cli/options/config_file.h"
#include "tests/cli/fakes.h"

namespace robustrun::cli::print_config_test {

using testing::World;

TEST_CASE("the JSON form has every value with its origin") {
  World world;
  world.around.environment.push_back("PET_TEE=3");
  world.machine.files["j.toml"] = "max_restarts = 7\n";
  const auto settings =
      world.merge({"-c", "j.toml", "--role=a\"b\xff", "train.py", "--token", "x"});
  REQUIRE(settings.has_value());
  const std::string json = config_json(*settings);
  for (const char* part :
       {R"("script": "train.py")", R"("--token",)", R"("***")", R"("value": 7)",
        R"("from": "j.toml:1: max_restarts")", R"("origin": "environment")",
        R"("from": "PET_TEE=3")", R"("origin": "command line")", R"("value": "a\"b\\xff")",
        R"("origin": "default")", R"("value": null)", R"("value": false)"}) {
    INFO(part);
    CHECK(json.find(part) != std::string::npos);
  }
  CHECK(json.find("\"x\"") == std::string::npos);
}

TEST_CASE("the TOML form is read back to the same values") {
  World world;
  const auto settings = world.merge(
      {"--tee=0:3", "--nproc-per-node=auto", "--standalone", "--time-limit=2h",
       "--monitor-interval=0.25", "--duplicate-stdout-filters=a,,b,c", "--local-ranks-filter=0,1",
       "--role=tab\there \"q\" \\", "train.py", "--n", "1"});
  REQUIRE(settings.has_value());
  world.machine.files["again.toml"] = config_toml(*settings);
  const auto again = world.merge({"-c", "again.toml"});
  if (!again) FAIL(again.error().what);
  for (const Option& row : options()) {
    if (!row.file) continue;
    INFO(row.name);
    // Shown with its escape, because it would move a terminal's cursor.
    if (row.id == OptionId::kRole) continue;
    CHECK(again->get(row.id).text == settings->get(row.id).text);
  }
  CHECK(again->script == settings->script);
  CHECK(again->arguments == settings->arguments);
}

}  // namespace robustrun::cli::print_config_test
