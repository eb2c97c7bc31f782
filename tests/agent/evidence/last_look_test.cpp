#include "agent/evidence/last_look.h"

#include <doctest/doctest.h>

#include <optional>

#include "tests/support/loop.h"

namespace robustrun::agent::last_look_test {
namespace {

struct Fixture {
  test::Loop loop;
  int stops = 0;
  std::optional<LastLook> look{std::in_place, loop.executor()};
  void stop() {
    look->then([this] { ++stops; });
  }
};

}  // namespace

TEST_CASE("a stop waits for the look under way, and for no other") {
  Fixture f;
  f.stop();
  CHECK(f.stops == 1);
  f.look->begin();
  f.stop();
  f.stop();  // repeated
  CHECK(f.stops == 1);
  f.look->end();
  CHECK(f.stops == 2);
  f.look->end();
  CHECK(f.stops == 2);
  f.stop();
  CHECK(f.stops == 3);
}

TEST_CASE("a look that never ends does not hold up the stop for long") {
  Fixture f;
  f.look->begin();
  f.look->begin();
  f.stop();
  CHECK(f.stops == 0);
  CHECK(f.loop.run_until([&] { return f.stops == 1; }));
}

TEST_CASE("a waiting stop is dropped with the worker") {
  Fixture f;
  f.look->begin();
  f.stop();
  f.look.reset();
  f.loop.run_out();
  CHECK(f.stops == 0);
}

}  // namespace robustrun::agent::last_look_test
