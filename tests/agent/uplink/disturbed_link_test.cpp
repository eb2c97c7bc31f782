#include "agent/uplink/disturbed_link.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "agent/node/limits.h"
#include "base/core/clock.h"
#include "tests/support/loop.h"

namespace robustrun::agent::disturbed_link_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using wire::FaultKind;

// Advanced by hand; the link's timers are real, so they are kept short.
class HandClock final : public base::Clock {
 public:
  base::Nanos time = seconds(1000);
  [[nodiscard]] base::Nanos now() const override { return time; }
  [[nodiscard]] base::Nanos wall_time() const override { return time; }
};

wire::Notice numbered(int number) { return {0, {}, std::to_string(number)}; }

int number_of(const wire::Message& message) {
  return std::stoi(std::get<wire::Notice>(message).text);
}

// The undisturbed connection below: records what it was given.
class PlainLink final : public SupervisorLink {
 public:
  struct Log {
    std::vector<int> sent;
    std::vector<std::string> calls;
    bool congested = false;
    Handlers handlers;
  };
  explicit PlainLink(Log& log) : log_(log) {}
  void send(const wire::Message& message) override { log_.sent.push_back(number_of(message)); }
  [[nodiscard]] bool congested() const override { return log_.congested; }
  void set_limits(const Limits&) override { log_.calls.emplace_back("limits"); }
  void begin_attempt(base::Attempt, std::uint32_t) override { log_.calls.emplace_back("attempt"); }
  void note_progress() override { log_.calls.emplace_back("progress"); }
  std::weak_ptr<wire::Channel> close() override {
    log_.calls.emplace_back("close");
    return {};
  }

 private:
  Log& log_;
};

struct Fixture {
  using Numbers = std::vector<int>;
  test::Loop loop;
  HandClock clock;
  PlainLink::Log below;
  Numbers received;
  int drained = 0;
  std::string alone;
  std::function<void(int)> on_received = [](int) {};
  std::unique_ptr<DisturbedLink> link = std::make_unique<DisturbedLink>(
      loop.executor(), clock,
      SupervisorLink::Handlers{[this](wire::Message message) {
                                 received.push_back(number_of(message));
                                 on_received(received.back());
                               },
                               [this] { ++drained; },
                               [this](const base::Error& why) { alone = why.what; }},
      [this](SupervisorLink::Handlers inner) {
        below.handlers = std::move(inner);
        return std::make_unique<PlainLink>(below);
      });

  void send(int number) { link->send(numbered(number)); }
  void hear(int number) { below.handlers.on_message(numbered(number)); }
  // Advances the clock, and runs what is due then.
  void pass(milliseconds time) {
    clock.time += time;
    loop.run_for(milliseconds(40));
  }
};

TEST_CASE("an undisturbed link has no effect") {
  Fixture f;
  f.send(1);
  f.hear(2);
  CHECK(f.below.sent == Fixture::Numbers{1});
  CHECK(f.received == Fixture::Numbers{2});
  f.link->set_limits({});
  f.link->begin_attempt({}, 1);
  f.link->note_progress();
  f.link->close();
  CHECK(f.below.calls == std::vector<std::string>{"limits", "attempt", "progress", "close"});
  f.below.handlers.on_given_up({base::Errc::kUnavailable, 0, "gone"});
  CHECK(f.alone == "gone");
  f.below.handlers.on_drained();
  CHECK(f.drained == 1);
  CHECK_FALSE(f.link->congested());
  f.below.congested = true;
  CHECK(f.link->congested());
}

TEST_CASE("a drop lets nothing pass, and delivers everything in order when it is over") {
  Fixture f;
  f.link->disturb(FaultKind::kNetDrop, milliseconds(20), {});
  for (int i = 1; i <= 3; ++i) f.send(i);
  for (int i = 4; i <= 6; ++i) f.hear(i);
  f.loop.run_for(milliseconds(60));  // real time alone does not end it
  CHECK(f.below.sent.empty());
  CHECK(f.received.empty());
  f.pass(milliseconds(20));
  CHECK(f.below.sent == Fixture::Numbers{1, 2, 3});
  CHECK(f.received == Fixture::Numbers{4, 5, 6});
  f.send(7);
  CHECK(f.below.sent.back() == 7);
}

TEST_CASE("a delay holds each message for its time, not longer than that") {
  Fixture f;
  f.link->disturb(FaultKind::kNetDelay, seconds(60), milliseconds(20));
  f.send(1);
  f.clock.time += milliseconds(10);
  f.send(2);
  CHECK(f.below.sent.empty());
  f.pass(milliseconds(10));
  CHECK(f.below.sent == Fixture::Numbers{1});
  f.pass(milliseconds(10));
  CHECK(f.below.sent == Fixture::Numbers{1, 2});
}

TEST_CASE("nothing overtakes held messages when the disturbance ends") {
  Fixture f;
  f.link->disturb(FaultKind::kNetDelay, milliseconds(10), milliseconds(30));
  f.send(1);
  f.clock.time += milliseconds(15);  // over, and the first is still on its way
  f.send(2);
  CHECK(f.below.sent.empty());
  f.pass(milliseconds(15));
  CHECK(f.below.sent == Fixture::Numbers{1, 2});
}

TEST_CASE("a shorter delay does not overtake a longer one") {
  Fixture f;
  f.link->disturb(FaultKind::kNetDelay, seconds(60), seconds(50));
  f.send(1);
  f.link->disturb(FaultKind::kNetDelay, seconds(60), milliseconds(10));
  f.send(2);
  f.pass(milliseconds(10));
  CHECK(f.below.sent == Fixture::Numbers{1, 2});
}

TEST_CASE("a drop that follows another one holds back what that one held") {
  Fixture f;
  f.link->disturb(FaultKind::kNetDrop, milliseconds(10), {});
  f.send(1);
  f.link->disturb(FaultKind::kNetDrop, milliseconds(50), {});
  f.pass(milliseconds(20));
  CHECK(f.below.sent.empty());
  f.pass(milliseconds(30));
  CHECK(f.below.sent == Fixture::Numbers{1});
}

TEST_CASE("a drop also holds back delayed messages") {
  Fixture f;
  f.link->disturb(FaultKind::kNetDelay, seconds(60), milliseconds(10));
  f.send(1);
  f.link->disturb(FaultKind::kNetDrop, milliseconds(40), {});
  f.pass(milliseconds(20));
  CHECK(f.below.sent.empty());
  f.pass(milliseconds(20));
  CHECK(f.below.sent == Fixture::Numbers{1});
}

TEST_CASE("a shorter drop ends a longer one") {
  Fixture f;
  f.link->disturb(FaultKind::kNetDrop, seconds(600), {});
  f.send(1);
  f.link->disturb(FaultKind::kNetDrop, milliseconds(10), {});
  f.send(2);
  f.pass(milliseconds(10));
  CHECK(f.below.sent == Fixture::Numbers{1, 2});
}

TEST_CASE("answers to messages that are being delivered queue up behind them") {
  Fixture f;
  f.on_received = [&](int number) {
    if (number == 1) f.send(100);
  };
  f.link->disturb(FaultKind::kNetDrop, milliseconds(10), {});
  f.hear(1);
  f.send(2);
  f.hear(3);
  f.pass(milliseconds(10));
  CHECK(f.received == Fixture::Numbers{1, 3});
  CHECK(f.below.sent == Fixture::Numbers{2, 100});
}

TEST_CASE("closing sends what is held, delivers nothing more, and ends the timers") {
  Fixture f;
  f.link->disturb(FaultKind::kNetDrop, milliseconds(10), {});
  f.send(1);
  f.hear(2);
  f.send(3);
  f.link->close();
  CHECK(f.below.sent == Fixture::Numbers{1, 3});
  CHECK(f.below.calls == std::vector<std::string>{"close"});
  f.hear(4);
  f.pass(milliseconds(10));
  CHECK(f.received.empty());
  CHECK(f.below.sent == Fixture::Numbers{1, 3});
}

TEST_CASE("a handler may close the link while messages are delivered") {
  Fixture f;
  f.on_received = [&](int) { f.link->close(); };
  f.link->disturb(FaultKind::kNetDrop, milliseconds(10), {});
  f.hear(1);
  f.send(2);
  f.hear(3);
  f.pass(milliseconds(10));
  CHECK(f.received == Fixture::Numbers{1});
  CHECK(f.below.sent == Fixture::Numbers{2});
}

TEST_CASE("many held messages are congestion until they are sent") {
  Fixture f;
  f.link->disturb(FaultKind::kNetDrop, milliseconds(10), {});
  for (int i = 0; i < static_cast<int>(kHeldMessagesCongested) - 1; ++i) f.send(i);
  CHECK_FALSE(f.link->congested());
  f.send(0);
  CHECK(f.link->congested());
  f.below.handlers.on_drained();
  CHECK(f.drained == 0);  // the connection below has room, this one has none
  f.pass(milliseconds(10));
  CHECK_FALSE(f.link->congested());
  CHECK(f.drained == 1);
  CHECK(f.below.sent.size() == kHeldMessagesCongested);
}

TEST_CASE("too many held messages end the disturbance, without loss") {
  Fixture f;
  f.link->disturb(FaultKind::kNetDrop, seconds(600), {});
  for (int i = 0; i < static_cast<int>(kHeldMessagesMax) + 2; ++i) f.send(i);
  REQUIRE(f.loop.run_until([&] { return f.below.sent.size() == kHeldMessagesMax + 2; }));
  CHECK(std::ranges::is_sorted(f.below.sent));
  f.send(-1);
  CHECK(f.below.sent.back() == -1);
}

}  // namespace
}  // namespace robustrun::agent::disturbed_link_test
