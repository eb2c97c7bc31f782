#include "cli/plan/deps.h"

#include <doctest/doctest.h>

#include "agent/deps/limits.h"
#include "cli/plan/plan.h"
#include "cli/text/cache_text.h"
#include "tests/cli/fakes.h"

namespace robustrun::cli::plan_deps_test {

using testing::World;
using Words = std::vector<std::string>;

namespace {

base::Result<RunPlan> plan_with(const World& world, const Words& options) {
  Words argv = options;
  argv.emplace_back("train.py");
  return plan_run(world.merge(argv).value(), argv, world.around);
}

std::string why_not(const World& world, const Words& options) {
  const auto made = plan_with(world, options);
  return made ? "no error" : made.error().what;
}

}  // namespace

TEST_CASE("a file of dependencies is taken with its absolute path, and gives a start more time") {
  World world;
  world.machine.files["/job/requirements.txt"] = "numpy";
  const auto without = plan_with(world, {});
  CHECK(without->request.workers.deps.empty());
  const auto made = plan_with(world, {"--deps=requirements.txt"});
  REQUIRE_MESSAGE(made.has_value(), made.error().what);
  CHECK(made->request.workers.deps == "/job/requirements.txt");
  CHECK(made->request.workers.deps_ttl == std::chrono::hours(7 * 24));
  CHECK(made->request.spec.deadlines.workers_started ==
        without->request.spec.deadlines.workers_started + agent::kInstallMax);
  CHECK(plan_with(world, {"--deps=requirements.txt", "--deps-ttl=2h"})->request.workers.deps_ttl ==
        std::chrono::hours(2));
}

TEST_CASE("a command is split into words") {
  World world;
  CHECK(plan_with(world, {"--setup-cmd=make 'PREFIX=${ROBUSTRUN_PREFIX}' all"})
            ->request.workers.setup_command == Words{"make", "PREFIX=${ROBUSTRUN_PREFIX}", "all"});
}

TEST_CASE("dependencies that cannot be installed are refused with the reason") {
  World world;
  world.machine.files["/job/requirements.txt"] = "numpy";
  world.machine.kinds["/job/folder.txt"] = PathKind::kDirectory;
  CHECK(why_not(world, {"--deps=none.txt"}).find("there is no such file") != std::string::npos);
  CHECK(why_not(world, {"--deps=folder.txt"}).find("not a regular file") != std::string::npos);
  CHECK(why_not(world, {"--deps=setup.cfg"}).find("pyproject.toml or environment.yml") !=
        std::string::npos);
  CHECK(why_not(world, {"--deps=requirements.txt", "--setup-cmd=make"}).find("--setup-cmd") !=
        std::string::npos);
  CHECK(why_not(world, {"--setup-cmd=\"make"}).find("quote") != std::string::npos);
  World homeless;
  homeless.around.environment = {"PATH=/usr/bin"};
  homeless.machine.files["/job/requirements.txt"] = "numpy";
  CHECK(why_not(homeless, {"--deps=requirements.txt"}).find("--cache-dir") != std::string::npos);
}

TEST_CASE("the line of robustrun cache") {
  CHECK(parse_cache_line(Words{"ls", "--json"})->json);
  const auto gc = parse_cache_line(Words{"gc", "--max=1.5", "--unused", "30d", "--cache-dir=/c"});
  REQUIRE(gc.has_value());
  CHECK(gc->most_gib == 1.5);
  CHECK(gc->unused == "30d");
  CHECK(gc->cache_dir == "/c");
  CHECK_FALSE(parse_cache_line(Words{}).has_value());
  CHECK_FALSE(parse_cache_line(Words{"mend"}).has_value());
  CHECK_FALSE(parse_cache_line(Words{"ls", "--max=1"}).has_value());
  CHECK_FALSE(parse_cache_line(Words{"gc", "--max=-1"}).has_value());
  CHECK(parse_cache_line(Words{"--help"})->help);
}

TEST_CASE("a cache is shown a line each, and as JSON") {
  const std::vector<bootstrap::CacheEntry> all = {
      {bootstrap::CacheKind::kSnapshot, "00ff", "/job/requirements.txt", 3U << 20U, 1000, 4600,
       true, ""},
      {bootstrap::CacheKind::kProfile, "a.hot", "", 10, 5, 5, false, "it is cut"}};
  const std::string text = cache_text(all, 4600 + 3 * 3600);
  CHECK(text.find("snapshot  00ff") != std::string::npos);
  CHECK(text.find("3 MiB  used    3 h ago  /job/requirements.txt  in use\n") != std::string::npos);
  CHECK(text.find("damaged: it is cut\n") != std::string::npos);
  CHECK(text.ends_with("2 in all, 4 MiB\n"));
  CHECK(cache_json("/c", "entries", {all.data(), 1}) ==
        R"({"cache":"/c","entries":[{"kind":"snapshot","name":"00ff",)"
        R"("what":"/job/requirements.txt","bytes":3145728,"made_s":1000,"used_s":4600,)"
        R"("in_use":true,"damage":""}]})"
        "\n");
}

}  // namespace robustrun::cli::plan_deps_test
