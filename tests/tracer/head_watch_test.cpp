#include "tracer/head_watch.h"

#include <doctest/doctest.h>

#include <vector>

#include "base/core/clock.h"
#include "tracer/limits.h"

namespace head_watch_test {

using namespace robustrun;
using namespace std::chrono_literals;
using base::Nanos;
using tracer::HeadWatch;

namespace {

// A worker in one communicator, looked at ten times a second.
struct Fixture {
  HeadWatch watch;
  HeadWatch::Look next{.now = 1h, .has_stepped = true};

  HeadWatch::Head look() {
    next.now += 100ms;
    return watch.look(next);
  }
  // Enters one operation and finishes it `lasting` later; returns the last look within it.
  HeadWatch::Head operation(Nanos lasting) {
    ++next.entered;
    const Nanos end = next.now + 100ms + lasting;
    HeadWatch::Head last = look();
    while (next.now < end) last = look();
    next.done = next.entered;
    return last;
  }
  // A communicator that is no longer new.
  void warm_up() {
    for (int i = 0; i < 4; ++i) operation(0ms);
    look();
  }
  // How long the next operation may take.
  Nanos expected() {
    ++next.entered;
    const Nanos allowed = look().expected;
    next.done = next.entered;
    look();
    return allowed;
  }
};

}  // namespace

TEST_CASE("without an unfinished operation nothing is overdue") {
  Fixture f;
  f.warm_up();
  f.next.now += 10h;
  const auto head = f.look();
  CHECK(head.ordinal == 0);
  CHECK_FALSE(head.became_overdue);
}

TEST_CASE("the time that an operation may take") {
  struct Case {
    const char* name;
    std::vector<Nanos> history;  // after the first three
    bool has_stepped;
    Nanos expected;
  };
  const Case cases[] = {
      {"at least two seconds", {100ms, 0ms}, true, 2s},
      {"four times the longest", {100ms, 1500ms, 200ms}, true, 6s},
      {"ten seconds before the first step", {100ms, 0ms}, false, 10s},
      {"what was before the first step is not learned from", {8s}, false, 10s},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name);
    Fixture f;
    f.warm_up();
    f.next.has_stepped = c.has_stepped;
    for (const Nanos lasting : c.history) f.operation(lasting);
    CHECK(f.expected() == c.expected);
  }
}

TEST_CASE("the first three operations may take ten seconds and are not added to the history") {
  Fixture f;
  for (int i = 0; i < 3; ++i) {
    const auto last = f.operation(9s);
    CHECK(last.ordinal == f.next.entered);
    CHECK(last.expected == 10s);
  }
  CHECK(f.expected() == 2s);
}

TEST_CASE("an overdue head is reported once, and its end once") {
  Fixture f;
  f.warm_up();
  ++f.next.entered;
  int reported = 0;
  for (int i = 0; i < 50; ++i) {
    const auto head = f.look();
    CHECK(head.ordinal == f.next.entered);
    CHECK(head.over == 0);
    if (!head.became_overdue) continue;
    ++reported;
    CHECK(head.age > 2s);
    CHECK(head.age <= 2s + 100ms);
  }
  CHECK(reported == 1);
  f.next.done = f.next.entered;
  CHECK(f.look().over == f.next.entered);
  CHECK(f.look().over == 0);
}

TEST_CASE("one look reports the end of an overdue head and the next one") {
  Fixture f;
  f.warm_up();
  f.operation(3s);
  f.next.entered += 2;
  const auto head = f.look();
  CHECK(head.over == 5);
  CHECK(head.ordinal == 6);
  CHECK(head.age == 0s);
}

TEST_CASE("an overdue head is not added to the history") {
  Fixture f;
  f.warm_up();
  f.operation(20s);
  CHECK(f.expected() == 2s);
  for (int i = 0; i < 3; ++i) f.operation(20s);
  CHECK(f.expected() == 2s);
}

TEST_CASE("a duration is forgotten after many operations") {
  Fixture f;
  f.warm_up();
  f.operation(1500ms);
  for (std::size_t i = 0; i < tracer::kHeadsRemembered - 1; ++i) f.operation(100ms);
  CHECK(f.expected() == 6s);
  CHECK(f.expected() == 2s);
}

TEST_CASE("an operation between two looks is not added to the history") {
  Fixture f;
  f.warm_up();
  f.next.entered += 500;
  f.next.done += 500;
  CHECK(f.look().ordinal == 0);
  CHECK(f.expected() == 2s);
}

TEST_CASE("the source's age is limited to the time since the last look") {
  Fixture f;
  f.warm_up();
  ++f.next.entered;
  SUBCASE("an hour: it was not there at the look before") {
    f.next.head_age = 1h;
    CHECK(f.look().age == 100ms);
  }
  SUBCASE("less than that") {
    f.next.head_age = 30ms;
    CHECK(f.look().age == 30ms);
    f.next.head_age = 5h;  // its clock was set
    CHECK(f.look().age == 130ms);
  }
  SUBCASE("in the future") {
    f.next.head_age = -1h;
    CHECK(f.look().age == 0s);
  }
  SUBCASE("nothing before: a day at most") {
    HeadWatch fresh;
    f.next.head_age = Nanos::max();
    CHECK(fresh.look(f.next).age == tracer::kHeadAgeMax);
  }
}

TEST_CASE("of several operations in flight the oldest counts, from when it was the oldest") {
  Fixture f;
  f.warm_up();
  f.next.entered += 3;
  for (int i = 0; i < 15; ++i) f.look();
  CHECK(f.look().ordinal == 5);
  f.next.done += 1;
  f.next.head_age = 1500ms;  // since it was entered
  const auto head = f.look();
  CHECK(head.ordinal == 6);
  CHECK(head.age == 100ms);
}

TEST_CASE("counts that run backwards begin a new history, and end what was overdue") {
  Fixture f;
  f.warm_up();
  f.operation(1500ms);
  f.next.entered += 1;
  while (!f.look().became_overdue) {
  }
  const std::uint64_t overdue = f.next.entered;
  f.next.entered = 2;
  f.next.done = 1;
  const auto head = f.look();
  CHECK(head.over == overdue);
  CHECK(head.ordinal == 2);
  CHECK(head.expected == 10s);
}

TEST_CASE("more done than entered does no harm") {
  Fixture f;
  f.warm_up();
  f.next.done = 900;
  CHECK(f.look().ordinal == 0);
  f.next.entered = 901;
  CHECK(f.look().ordinal == 901);
}

}  // namespace head_watch_test
