// How long a rescue is waited for; the test says what its work writes and when.

#include "agent/copies/rescue_run.h"

#include <doctest/doctest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <string>

namespace rescue_run_test {

using namespace robustrun;
using agent::RescueLimits;
using agent::RescueRun;
using agent::RescueWatch;
using std::chrono::milliseconds;

namespace {

struct Waiting {
  boost::asio::io_context loop;
  base::SystemClock clock;
  base::BlockingPool pool{loop.get_executor(), 1, 4};
  std::shared_ptr<RescueRun> run;
  std::string calls;  // in order

  void start(RescueLimits limits, std::function<void(const RescueWatch&)> work) {
    auto started = RescueRun::start(
        loop.get_executor(), clock, pool, limits,
        [work = std::move(work)](const RescueWatch& watch) {
          work(watch);
          return RescueRun::Lines{{base::Rank{3}, false, "saved"}};
        },
        {[this] { calls += "late "; },
         [this](const RescueRun::Lines& lines) { calls += lines.front().text + " "; }});
    REQUIRE(started);
    run = *std::move(started);
    run->when_over([this] { calls += "over "; });
  }
  void run_until(std::string_view words) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!calls.ends_with(words)) {
      REQUIRE(std::chrono::steady_clock::now() < end);
      loop.restart();
      loop.run_one_for(milliseconds(50));
    }
  }
};

}  // namespace

TEST_CASE("a rescue that ends in time is no longer waited for") {
  Waiting waiting;
  waiting.start({}, [](const RescueWatch&) {});
  waiting.run_until("over ");
  CHECK(waiting.calls == "saved over ");
  CHECK_FALSE(waiting.run->is_waited_for());
  waiting.run->when_over([&] { waiting.calls += "at once"; });
  CHECK(waiting.calls == "saved over at once");
}

TEST_CASE("while something is written, new workers wait longer than the caller of the rescue") {
  Waiting waiting;
  auto ends = std::make_shared<std::atomic<bool>>(false);
  waiting.start({milliseconds(500), milliseconds(500), std::chrono::hours(1)},
                [ends](const RescueWatch& watch) {
                  while (!*ends) ++*watch.written;
                });
  waiting.run_until("late ");
  CHECK(waiting.run->is_waited_for());
  *ends = true;
  waiting.run_until("over ");
  CHECK(waiting.calls == "late saved over ");
}

TEST_CASE(
    "a rescue that writes nothing, or takes too long, is not waited for and begins nothing more") {
  Waiting waiting;
  RescueLimits limits{milliseconds(50), milliseconds(50), std::chrono::hours(1)};
  bool writes = false;
  SUBCASE("nothing is written") {}
  SUBCASE("it takes too long") {
    writes = true;
    limits.most = milliseconds(200);
  }
  waiting.start(limits, [writes](const RescueWatch& watch) {
    while (!watch.given_up) *watch.written += writes ? 1 : 0;
  });
  waiting.run_until("saved ");
  CHECK(waiting.calls == "late over saved ");
}

TEST_CASE("larger copies get more time, but less than the supervisor waits for workers") {
  using agent::kBreakpointSaveMax;
  CHECK(agent::rescue_limits(0).most == kBreakpointSaveMax);
  CHECK(agent::rescue_limits(2'000'000'000).most == kBreakpointSaveMax + std::chrono::seconds(10));
  CHECK(agent::rescue_limits(UINT64_MAX).most == agent::kRescueMax);
}

TEST_CASE("an abandoned rescue calls no handler") {
  Waiting waiting;
  waiting.start({}, [](const RescueWatch& watch) {
    while (!watch.given_up) {
    }
  });
  waiting.run->abandon();
  bool is_free = false;
  REQUIRE(waiting.pool.submit(0, [] {}, [&] { is_free = true; }));
  while (!is_free) {
    waiting.loop.restart();
    waiting.loop.run_one_for(milliseconds(50));
  }
  CHECK(waiting.calls.empty());
}

}  // namespace rescue_run_test
