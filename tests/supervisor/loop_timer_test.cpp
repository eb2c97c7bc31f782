#include "supervisor/loop_timer.h"

#include <doctest/doctest.h>

#include <memory>
#include <optional>
#include <vector>

#include "tests/support/loop.h"

namespace robustrun::supervisor::test::loop_timer_test {

using namespace std::chrono_literals;

TEST_CASE("a timer calls once, and a later wait replaces an earlier one") {
  robustrun::test::Loop loop;
  LoopTimer timer(loop.executor());
  std::vector<int> called;
  timer.after(0ms, [&] { called.push_back(1); });
  timer.after(1ms, [&] { called.push_back(2); });
  REQUIRE(loop.run_until([&] { return !called.empty(); }));
  loop.run_out();
  CHECK(called == std::vector{2});
  timer.after(-5ms, [&] {
    called.push_back(3);
    timer.after(0ms, [&] { called.push_back(4); });
  });
  REQUIRE(loop.run_until([&] { return called.size() == 3; }));
  CHECK(called == std::vector{2, 3, 4});
}

TEST_CASE("a wait that is already due is not called after cancel or the timer's end") {
  robustrun::test::Loop loop;
  int called = 0;
  LoopTimer cancelled(loop.executor()), first(loop.executor());
  std::optional<LoopTimer> ended(std::in_place, loop.executor());
  // All three are due when the first of them runs.
  const auto count = [&] {
    ++called;
    cancelled.cancel();
    ended.reset();
  };
  first.after(0ms, count);
  cancelled.after(0ms, count);
  ended->after(0ms, count);
  loop.run_out();
  CHECK(called == 1);
}

TEST_CASE("a callback may destroy its timer") {
  robustrun::test::Loop loop;
  auto timer = std::make_unique<LoopTimer>(loop.executor());
  bool called = false;
  timer->after(0ms, [&] {
    timer.reset();
    called = true;
  });
  loop.run_out();
  CHECK(called);
}

}  // namespace robustrun::supervisor::test::loop_timer_test
