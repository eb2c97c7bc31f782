// How long a rescue is waited for, played by work that writes as the test says.

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
  std::string heard;  // in order

  void start(RescueLimits limits, std::function<void(const RescueWatch&)> work) {
    auto started = RescueRun::start(
        loop.get_executor(), clock, pool, limits,
        [work = std::move(work)](const RescueWatch& watch) {
          work(watch);
          return RescueRun::Lines{{base::Rank{3}, false, "saved"}};
        },
        {[this] { heard += "late "; },
         [this](const RescueRun::Lines& lines) { heard += lines.front().text + " "; }});
    REQUIRE(started);
    run = *std::move(started);
    run->when_over([this] { heard += "over "; });
  }
  void run_until(std::string_view words) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!heard.ends_with(words)) {
      REQUIRE(std::chrono::steady_clock::now() < end);
      loop.restart();
      loop.run_one_for(milliseconds(50));
    }
  }
};

}  // namespace

TEST_CASE("a rescue that ends in time is over with it, and then nothing is waited for") {
  Waiting waiting;
  waiting.start({}, [](const RescueWatch&) {});
  waiting.run_until("over ");
  CHECK(waiting.heard == "saved over ");
  CHECK_FALSE(waiting.run->is_waited_for());
  waiting.run->when_over([&] { waiting.heard += "at once"; });
  CHECK(waiting.heard == "saved over at once");
}

TEST_CASE("as long as something is written new workers wait, beyond what its order waits") {
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
  CHECK(waiting.heard == "late saved over ");
}

TEST_CASE("a rescue that writes nothing, or takes too long, is not waited for and begins no more") {
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
  CHECK(waiting.heard == "late over saved ");
}

TEST_CASE("what is written slowly has longer, and less than the supervisor waits for workers") {
  using agent::kBreakpointSaveMax;
  CHECK(agent::rescue_limits(0).most == kBreakpointSaveMax);
  CHECK(agent::rescue_limits(2'000'000'000).most == kBreakpointSaveMax + std::chrono::seconds(10));
  CHECK(agent::rescue_limits(UINT64_MAX).most == agent::kRescueMax);
}

TEST_CASE("whoever has abandoned a rescue hears nothing of it") {
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
  CHECK(waiting.heard.empty());
}

}  // namespace rescue_run_test
