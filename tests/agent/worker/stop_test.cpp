// How workers are stopped: the order's signal, its grace, then SIGKILL.
#include "agent/worker/stop.h"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <optional>
#include <string>

namespace stop_test {

using namespace robustrun;
using agent::WorkerStop;

namespace {

struct Workers {
  boost::asio::io_context loop;
  std::string done;
  std::optional<WorkerStop> stop{std::in_place, loop.get_executor(),
                                 WorkerStop::Actions{[this](const wire::StopWorkers& order) {
                                                       done += "signal " +
                                                               std::to_string(order.signal) + ";";
                                                     },
                                                     [this] { done += "kill;"; }}};

  void order(int signal, base::Nanos grace) {
    wire::StopWorkers stop_order;
    stop_order.signal = signal;
    stop_order.grace = grace;
    stop->begin(stop_order);
  }
};

}  // namespace

TEST_CASE("workers get the order's signal, and SIGKILL after its grace") {
  Workers workers;
  workers.order(15, std::chrono::milliseconds(1));
  CHECK(workers.done == "signal 15;");
  workers.loop.run();
  CHECK(workers.done == "signal 15;kill;");
}

TEST_CASE("without a grace workers are killed at once") {
  Workers workers;
  workers.order(15, base::Nanos::zero());
  CHECK(workers.done == "kill;");
  workers.loop.run();
  CHECK(workers.done == "kill;");
}

TEST_CASE("once no worker is left, nothing is killed after the grace") {
  Workers workers;
  SUBCASE("the stop is cancelled") {
    workers.order(2, std::chrono::milliseconds(1));
    workers.stop->cancel();
  }
  SUBCASE("the set of workers is gone") {
    workers.order(2, std::chrono::milliseconds(1));
    workers.stop.reset();
  }
  workers.loop.run();
  CHECK(workers.done == "signal 2;");
}

TEST_CASE("a second order starts its own grace") {
  Workers workers;
  workers.order(2, std::chrono::hours(1));
  workers.order(15, std::chrono::milliseconds(1));
  workers.loop.run();
  CHECK(workers.done == "signal 2;signal 15;kill;");
}

}  // namespace stop_test
