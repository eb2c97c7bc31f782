// A timer of the loop, whose handler is never called late.
#include "base/io/timer.h"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <optional>
#include <string>

namespace timer_test {

using namespace std::chrono_literals;
using robustrun::base::Timer;

namespace {

struct Loop {
  boost::asio::io_context loop;
  std::optional<Timer> timer{loop.get_executor()};
  std::string calls;

  auto note(const std::string& name) {
    return [this, name] { calls += name; };
  }
};

}  // namespace

TEST_CASE("a handler is called once after its time") {
  Loop one;
  one.timer->after(1ms, one.note("a"));
  CHECK(one.calls.empty());
  one.loop.run();
  CHECK(one.calls == "a");
}

TEST_CASE("a handler that waits is dropped by another one, by cancel() and by the timer's end") {
  Loop one;
  one.timer->after(1ms, one.note("a"));
  SUBCASE("another one") { one.timer->after(1ms, one.note("b")); }
  SUBCASE("cancel") { one.timer->cancel(); }
  SUBCASE("the end") { one.timer.reset(); }
  one.loop.run();
  CHECK(one.calls.find('a') == std::string::npos);
}

TEST_CASE("a handler that is queued already is dropped, too") {
  Loop one;
  // Both timers expire before the loop runs, so the second handler waits behind the first one.
  Timer first(one.loop.get_executor());
  SUBCASE("cancel") {
    first.after(0ms, [&] { one.timer->cancel(); });
  }
  SUBCASE("the end") {
    first.after(0ms, [&] { one.timer.reset(); });
  }
  SUBCASE("another one") {
    first.after(0ms, [&] { one.timer->after(1ms, one.note("b")); });
  }
  one.timer->after(0ms, one.note("a"));
  one.loop.run();
  CHECK(one.calls.find('a') == std::string::npos);
}

TEST_CASE("a handler may set the timer again, and destroy it") {
  Loop one;
  one.timer->after(0ms, [&] {
    one.calls += "a";
    one.timer->after(0ms, [&] {
      one.calls += "b";
      one.timer.reset();
    });
  });
  one.loop.run();
  CHECK(one.calls == "ab");
}

}  // namespace timer_test
