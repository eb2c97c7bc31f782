#include "agent/worker/saves_gate.h"

#include <doctest/doctest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <optional>
#include <string>

#include "agent/copies/limits.h"

namespace saves_gate_test {

using namespace robustrun;
using agent::SavesGate;

namespace {

struct Gate {
  boost::asio::io_context loop;
  std::optional<SavesGate> gate;
  std::string answered;

  explicit Gate(base::Nanos most = std::chrono::hours(1))
      : gate(std::in_place, loop.get_executor(), most) {}
  void ask(const std::string& name) {
    gate->when_open([this, name] { answered += name; });
  }
};

}  // namespace

TEST_CASE("a worker is answered at once, or, while copies are being saved, when that ends") {
  Gate one;
  one.ask("a");
  CHECK(one.answered == "a");  // before any attempt
  one.gate->begin_attempt(false);
  one.ask("b");
  CHECK(one.answered == "ab");
  one.gate->begin_attempt(true);
  one.ask("c");
  one.ask("d");
  one.loop.poll();
  CHECK(one.answered == "ab");
  one.gate->open();
  CHECK(one.answered == "abcd");
  one.gate->open();
  one.ask("e");
  CHECK(one.answered == "abcde");
}

TEST_CASE("workers of an attempt that is over are not answered") {
  Gate one;
  one.gate->begin_attempt(true);
  one.ask("a");
  one.gate->begin_attempt(true);
  one.ask("b");
  one.gate->open();
  CHECK(one.answered == "b");
}

TEST_CASE("without an order the gate opens when its own time is over") {
  Gate one(std::chrono::milliseconds(30));
  one.gate->begin_attempt(true);
  one.ask("a");
  one.loop.run();  // until nothing is waited for
  CHECK(one.answered == "a");
  one.gate->begin_attempt(true);
  one.gate->open();
  one.loop.restart();
  one.loop.run();
  one.gate->begin_attempt(true);
  one.gate->begin_attempt(false);
  one.ask("b");
  CHECK(one.answered == "ab");
  one.gate->begin_attempt(true);
  one.ask("c");
  one.gate.reset();
  one.loop.restart();
  one.loop.run();
  CHECK(one.answered == "ab");
}

TEST_CASE("the gate waits longer than any rescue takes") {
  CHECK(agent::kSavesGateMax > agent::kRescueMax);
}

}  // namespace saves_gate_test
