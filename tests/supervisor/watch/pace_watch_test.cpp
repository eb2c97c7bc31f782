#include "supervisor/watch/pace_watch.h"

#include <doctest/doctest.h>

#include "base/core/clock.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor::pace_watch_test {
namespace {

using namespace std::chrono_literals;

struct Pace {
  PaceWatch watch;
  base::Nanos now = 50s;
  std::uint64_t steps = 0;

  // So many steps of that length; true when it was called slow meanwhile.
  bool run(int count, base::Nanos period) {
    bool slow = false;
    for (int i = 0; i < count; ++i) {
      now += period;
      watch.note(++steps, now);
      slow = slow || watch.is_slow();
    }
    return slow;
  }
};

TEST_CASE("a steady pace is not slow, whatever it is") {
  for (const base::Nanos period : {base::Nanos(1ms), base::Nanos(1s), base::Nanos(90s)}) {
    CHECK_FALSE(Pace().run(500, period));
  }
}

TEST_CASE("twice the usual time is slow, after some windows") {
  Pace pace;
  CHECK_FALSE(pace.run(100, 1s));
  CHECK_FALSE(pace.run(6, 2s));
  CHECK(pace.run(6, 2s));
}

TEST_CASE("a tenth more is not, nor is a single long pause") {
  Pace pace;
  CHECK_FALSE(pace.run(100, 1s));
  CHECK_FALSE(pace.run(100, 1100ms));
  CHECK_FALSE(pace.run(1, 60s));  // a checkpoint
  CHECK_FALSE(pace.run(100, 1s));
}

TEST_CASE("noise of a fifth is not slow, whatever the seed") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    base::Rng rng(seed);
    Pace pace;
    for (int i = 0; i < 1000; ++i) {
      CHECK_FALSE(pace.run(1, 800ms + std::chrono::milliseconds(rng.next() % 400)));
    }
  }
}

TEST_CASE("what was looked at becomes the usual pace") {
  Pace pace;
  CHECK_FALSE(pace.run(100, 1s));
  CHECK(pace.run(20, 2s));
  pace.watch.accept();
  CHECK_FALSE(pace.run(100, 2s));
  CHECK(pace.run(20, 4s));
}

TEST_CASE("what is slow does not become usual by itself") {
  Pace pace;
  CHECK_FALSE(pace.run(100, 1s));
  CHECK(pace.run(1000, 2s));
  CHECK(pace.watch.is_slow());
}

TEST_CASE("another attempt begins anew") {
  Pace pace;
  CHECK_FALSE(pace.run(100, 1s));
  CHECK(pace.run(20, 2s));
  pace.steps = 0;
  CHECK_FALSE(pace.run(100, 2s));
}

TEST_CASE("what was usual is known while it is slower, and no longer than that is no habit") {
  Pace pace;
  pace.run(100, 1s);
  CHECK(pace.watch.usual() == 0s);  // nothing is slow
  CHECK(pace.watch.period() == 1s);
  pace.run(12, 2s);
  CHECK(pace.watch.is_slow());
  CHECK(pace.watch.usual() == 1s);
  CHECK(pace.watch.period() == 2s);
  pace.watch.accept();
  pace.run(12, 2s);
  CHECK_FALSE(pace.watch.is_slow());
  CHECK(pace.watch.usual() == 1s);
  CHECK_FALSE(pace.watch.take_recovery());
  // For ever: that is how it is now.
  Pace other = pace;
  other.run(3 * (kPaceWindowsKept + 2), 2s);
  CHECK(other.watch.usual() == 0s);
  // Well again: at once what it was before, and slow again as fast as the first time.
  pace.run(6, 1s);
  CHECK(pace.watch.usual() == 0s);
  CHECK(pace.watch.take_recovery());
  CHECK_FALSE(pace.watch.take_recovery());
  CHECK(pace.run(15, 2s));
  CHECK(pace.watch.usual() == 1s);
}

}  // namespace
}  // namespace robustrun::supervisor::pace_watch_test
