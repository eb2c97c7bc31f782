// A site's failures in TOML: docs/sim.md.

#include <doctest/doctest.h>

#include <chrono>

#include "cli/sim/failures_file.h"

namespace robustrun::cli::failures_file_test {
namespace {

using simulator::FaultKind;
using simulator::Origin;

TEST_CASE("a file of failures changes the given values and no others") {
  const auto model = parse_failures(
      "source = \"ours\"\nrate_per_node_day = 0.01\nrepair = \"6h\"\nhang_stays = 1\n"
      "[mix]\ngpu = 3\nhang = 1\n[co_events]\nshare = 0.5\nmachines = 2\n",
      "f.toml");
  REQUIRE(model);
  CHECK(model->about == "ours");
  CHECK(model->per_node_day.value == 0.01);
  CHECK(model->repair.value == std::chrono::hours(6));
  CHECK(model->repair.origin == Origin::kGiven);
  CHECK(model->share(FaultKind::kGpu) == 0.75);
  CHECK(model->share(FaultKind::kSoftware) == 0);
  CHECK(model->hang_stays.value == 1);
  CHECK(model->neighbours.value == 2);
  CHECK(model->slow_factor.origin == Origin::kPublished);
}

TEST_CASE("without a mix that of llama3 is used, marked as assumed") {
  const auto model = parse_failures("rate_per_node_day = 0\n", "f.toml");
  REQUIRE(model);
  CHECK(model->mix.origin == Origin::kAssumed);
  CHECK(model->mix.value == simulator::preset("llama3")->mix.value);
}

TEST_CASE("errors name the place, and the accepted values") {
  const std::pair<const char*, const char*> rows[] = {
      {"", "f.toml:1:1: rate_per_node_day is missing"},
      {"rate_per_node_day = \"often\"", "f.toml:1:1: rate_per_node_day must be a number"},
      {"rate_per_node_day = 1\nmix = 3", "f.toml:2:1: mix must be a table"},
      {"rate_per_node_day = 1\n[mix]\ngpus = 3",
       "f.toml:3:1: unknown key 'gpus' (did you mean gpu"},
      {"rate_per_node_day = 1\n[co_events]\nmachines = 1.5", "f.toml:3:1: machines must be"},
      {"rate_per_node_day = 1\nslow_factor = 0.5", "f.toml:2:1: slow_factor must be a number"},
      {"rate_per_node_day = ", "f.toml:1:"}};
  for (const auto& [text, error] : rows) {
    CAPTURE(text);
    const auto model = parse_failures(text, "f.toml");
    REQUIRE_FALSE(model);
    CHECK(model.error().what.starts_with(error));
  }
}

}  // namespace
}  // namespace robustrun::cli::failures_file_test
