#include "cli/plan/routes.h"

#include <doctest/doctest.h>

namespace robustrun::cli::routes_test {
namespace {

using wire::StreamRoute;

RouteWishes wishes(const char* redirects, const char* tee, const char* shown, bool compat) {
  RouteWishes made;
  made.redirects = *parse_stream_choice(redirects);
  made.tee = *parse_stream_choice(tee);
  made.shown = *parse_ranks(shown);
  made.compat = compat;
  return made;
}

}  // namespace

TEST_CASE("a stream choice is one value for all, or some by local rank of any length") {
  CHECK(parse_stream_choice("3")->of(7) == 3);
  const auto some = parse_stream_choice("0:1,12:3");
  REQUIRE(some.has_value());
  CHECK(some->of(0) == 1);
  CHECK(some->of(1) == 0);
  CHECK(some->of(12) == 3);
  CHECK(some->any());
  CHECK_FALSE(parse_stream_choice("0")->any());
  CHECK_FALSE(parse_stream_choice("0:0")->any());
  for (const char* bad : {"", "4", "-1", "33", "1:9", "1:", ":1", "0:1,", "a:1", "0:1;1:2", "0:1:2",
                          "99999999999:1"}) {
    INFO(bad);
    CHECK_FALSE(parse_stream_choice(bad).has_value());
  }
  CHECK(parse_stream_choice("1:9").error().what.starts_with("1:9 does not match: <^[0123]$> or"));
}

TEST_CASE("ranks to show are integers") {
  CHECK_FALSE(parse_ranks("")->has_value());
  CHECK(*parse_ranks("0,2") == std::set<std::uint32_t>{0, 2});
  CHECK(*parse_ranks(" 1 , 1") == std::set<std::uint32_t>{1});
  for (const char* bad : {",", "a", "0,,1", "-1", "1.5"}) {
    INFO(bad);
    CHECK_FALSE(parse_ranks(bad).has_value());
  }
}

TEST_CASE("native: everything to file and console, --redirects takes it off the console") {
  auto routes = plan_routes(wishes("0", "0", "", false), 2);
  CHECK(routes[1].out == StreamRoute::kFileAndConsole);
  CHECK(routes[1].err == StreamRoute::kFileAndConsole);
  routes = plan_routes(wishes("0:1", "0", "", false), 2);
  CHECK(routes[0].out == StreamRoute::kFile);
  CHECK(routes[0].err == StreamRoute::kFileAndConsole);
  CHECK(routes[1].out == StreamRoute::kFileAndConsole);
  routes = plan_routes(wishes("3", "1", "", false), 1);
  CHECK(routes[0].out == StreamRoute::kFileAndConsole);
  CHECK(routes[0].err == StreamRoute::kFile);
  routes = plan_routes(wishes("0", "0", "1", false), 2);
  CHECK(routes[0].out == StreamRoute::kFile);
  CHECK(routes[1].out == StreamRoute::kFileAndConsole);
  auto no_files = wishes("1", "0", "0", false);
  no_files.files = false;
  routes = plan_routes(no_files, 2);
  CHECK(routes[0].out == StreamRoute::kDiscard);
  CHECK(routes[0].err == StreamRoute::kConsole);
  CHECK(routes[1].err == StreamRoute::kDiscard);
}

TEST_CASE("compat: our own descriptors unless a stream is named") {
  auto routes = plan_routes(wishes("0", "0", "", true), 1);
  CHECK(routes[0].out == StreamRoute::kInherit);
  routes = plan_routes(wishes("1", "2", "", true), 1);
  CHECK(routes[0].out == StreamRoute::kFile);
  CHECK(routes[0].err == StreamRoute::kFileAndConsole);
  routes = plan_routes(wishes("1", "0:2", "1", true), 2);
  CHECK(routes[0].out == StreamRoute::kFile);
  CHECK(routes[0].err == StreamRoute::kFile);
  CHECK(routes[1].err == StreamRoute::kInherit);
  routes = plan_routes(wishes("0", "0", "1", true), 2);
  CHECK(routes[0].out == StreamRoute::kDiscard);
  auto no_files = wishes("3", "3", "", true);
  no_files.files = false;
  routes = plan_routes(no_files, 1);
  CHECK(routes[0].out == StreamRoute::kInherit);
}

}  // namespace robustrun::cli::routes_test
