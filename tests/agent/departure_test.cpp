// What a signal to the agent means: on one machine, and on a node of several.
#include "agent/departure.h"

#include <doctest/doctest.h>

#include <csignal>
#include <optional>
#include <utility>
#include <vector>

#include "tests/agent/fake_node.h"

namespace robustrun::agent::departure_test {
namespace {

using namespace std::chrono_literals;

struct Leaving : test::FakeNode {
  explicit Leaving(bool over_network, const Departure::Times& times = {}) {
    departure.emplace(
        node, over_network, times,
        Departure::Hands{[this] { return has_workers; }, [this] { return is_supervisor_gone; },
                         [this](const wire::Message& m) { sent.push_back(m); },
                         [this](int signal, base::Nanos) { stops.push_back(signal); },
                         [this](std::function<void()> then) { gone = std::move(then); },
                         [this] { ++left; }});
  }
  [[nodiscard]] bool stops_by_itself() {
    return loop.run_until([this] { return !stops.empty(); });
  }

  bool has_workers = true, is_supervisor_gone = false;
  std::vector<int> stops;
  std::function<void()> gone;
  int left = 0;
  std::optional<Departure> departure;
};

TEST_CASE("on one machine the supervisor is told, and its answer leaves everything to it") {
  Leaving run(false);
  run.departure->signalled(SIGTERM);
  const auto told = run.all<wire::StopRun>();
  REQUIRE(told.size() == 1);
  CHECK(told[0].signal == SIGTERM);
  CHECK(run.departure->left_by() == SIGTERM);
  run.departure->on_answer();
  CHECK(run.departure->left_by() == 0);
  CHECK(run.left == 0);
}

TEST_CASE("without an answer SIGTERM and SIGINT stop the workers here, and no other signal does") {
  Leaving run(false, {1ms, 1ms});
  run.departure->signalled(SIGHUP);
  CHECK(run.departure->left_by() == 0);
  run.departure->signalled(SIGINT);
  REQUIRE(run.stops_by_itself());
  CHECK(run.stops == std::vector{SIGINT});
  REQUIRE(run.gone);
  run.gone();
  CHECK(run.left == 1);
}

TEST_CASE("exits of workers that the agent stopped by itself wait for an order") {
  Leaving run(false, {1ms, 1ms});
  CHECK_FALSE(run.departure->withholds(wire::WorkerExited{}));
  run.departure->signalled(SIGTERM);
  REQUIRE(run.stops_by_itself());
  CHECK(run.departure->withholds(wire::WorkerExited{}));
  CHECK(run.departure->withholds(wire::WorkersGone{}));
  CHECK_FALSE(run.departure->withholds(wire::Notice{}));
  wire::StopWorkers order;
  run.departure->take(order);
  CHECK(run.all<wire::WorkerExited>().size() == 1);
  CHECK(run.all<wire::WorkersGone>().empty());  // the order is answered by one
  CHECK_FALSE(run.departure->withholds(wire::WorkersGone{}));
  run.gone();
  CHECK(run.left == 0);  // the supervisor is back
}

TEST_CASE("an order that comes in time stops the workers, with the signal that the agent got") {
  Leaving run(true, {1ms, 1ms});
  run.departure->signalled(SIGINT);
  wire::StopWorkers order;
  order.signal = SIGTERM;
  run.departure->take(order);
  CHECK(order.signal == SIGINT);
  run.loop.run_for(5ms);
  CHECK(run.stops.empty());
  wire::StopWorkers kill;
  kill.signal = SIGKILL;
  run.departure->take(kill);
  CHECK(kill.signal == SIGKILL);
}

TEST_CASE("without a supervisor, or before the welcome, a signal ends the agent at once") {
  Leaving orphan(false);
  orphan.is_supervisor_gone = true;
  orphan.departure->signalled(SIGTERM);
  CHECK(orphan.left == 1);
  CHECK(orphan.sent.empty());
  for (const bool over_network : {false, true}) {
    Leaving early(over_network);
    early.has_workers = false;
    early.departure->signalled(SIGTERM);
    CHECK(early.left == 1);
  }
}

TEST_CASE("a second signal ends everything at once") {
  for (const bool over_network : {false, true}) {
    Leaving run(over_network);
    run.departure->signalled(SIGTERM);
    CHECK(run.left == 0);
    run.departure->signalled(SIGTERM);
    CHECK(run.left == 1);
  }
}

TEST_CASE("over a network the node leaves the run, and tells that on every connection") {
  Leaving run(true, {1ms, 1ms});
  run.departure->tell_again();
  CHECK(run.sent.empty());
  run.departure->signalled(SIGTERM);
  run.departure->tell_again();
  const auto told = run.all<wire::NodeEnding>();
  REQUIRE(told.size() == 2);
  CHECK(told[1].why == "its agent got SIGTERM");
  CHECK(told[1].signal == SIGTERM);
  REQUIRE(run.stops_by_itself());
  CHECK_FALSE(run.departure->withholds(wire::WorkerExited{}));
  run.gone();
  CHECK(run.left == 1);
}

TEST_CASE("Slurm's SIGTERM is passed on, and the agent goes on") {
  Leaving run(true, {1ms, 1ms});
  run.departure->end_with_node();
  run.departure->signalled(SIGTERM);
  run.departure->signalled(SIGTERM);
  REQUIRE(run.all<wire::NodeEnding>().size() == 2);
  CHECK(run.all<wire::NodeEnding>()[0].signal == 0);
  run.loop.run_for(5ms);
  CHECK(run.stops.empty());
  CHECK(run.departure->left_by() == 0);
  CHECK(run.left == 0);
  run.departure->signalled(SIGINT);  // a user's
  CHECK(run.departure->left_by() == SIGINT);
}

TEST_CASE("an order of an earlier attempt does not count for the next one") {
  Leaving run(false, {1ms, 1ms});
  wire::StopWorkers order;
  run.departure->take(order);
  CHECK(run.departure->was_stopped());
  run.departure->begin_attempt();
  CHECK_FALSE(run.departure->was_stopped());
  run.departure->signalled(SIGTERM);
  CHECK(run.stops_by_itself());
}

}  // namespace
}  // namespace robustrun::agent::departure_test
