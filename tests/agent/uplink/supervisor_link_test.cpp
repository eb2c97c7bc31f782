// What becomes of reports and of the agent itself when the connection to the supervisor breaks.
#include "agent/uplink/supervisor_link.h"

#include <doctest/doctest.h>

#include <optional>
#include <utility>
#include <vector>

#include "agent/node/limits.h"
#include "tests/support/fake_channel.h"
#include "tests/support/loop.h"

namespace robustrun::agent::supervisor_link_test {
namespace {

using namespace std::chrono_literals;
using test::all_of;
using test::FakeChannel;

struct HandClock final : base::Clock {
  base::Nanos time = 1000s;
  [[nodiscard]] base::Nanos now() const override { return time; }
  [[nodiscard]] base::Nanos wall_time() const override { return time; }
};

struct FakeDialer final : wire::Dialer {
  struct Log {
    int dials = 0;
    Done done;  // of the newest dial; empty: answered
    std::vector<std::string> endpoints;
  };
  explicit FakeDialer(Log& to) : log(to) {}
  void connect(Done done) override {
    ++log.dials;
    log.done = std::move(done);
  }
  void answer(base::Fd, Done) override {}
  [[nodiscard]] const std::optional<wire::Identity>& identity() const override { return none; }
  void set_endpoints(std::vector<std::string> endpoints) override {
    log.endpoints = std::move(endpoints);
  }

  Log& log;
  const std::optional<wire::Identity> none;
};

struct Link {
  Link() {
    SupervisorLink::Network network;
    network.first_contact_max = 30s;
    network.on_late = [this](const std::string&) { ++late; };
    link = SupervisorLink::over_network(
        loop.executor(), clock, std::make_unique<FakeDialer>(dialer), std::move(network),
        {[this](wire::Message message) { received.push_back(std::move(message)); },
         [this] { ++drained; }, [this](const base::Error& why) { given_up.push_back(why); }});
  }
  ~Link() { link->close(); }
  // The supervisor answers the dial that is under way, or the next one.
  std::shared_ptr<FakeChannel> connect(const std::string& supervisor = "one") {
    REQUIRE(loop.run_until([this] { return dialer.done != nullptr; }));
    sent.clear();
    wire::Dialer::Connected connected;
    connected.channel = std::make_shared<FakeChannel>(sent);
    connected.addresses = {"10.0.0.2", "10.0.0.1"};
    connected.supervisor = supervisor;
    const auto channel = std::static_pointer_cast<FakeChannel>(connected.channel);
    std::exchange(dialer.done, nullptr)(std::move(connected));
    return channel;
  }
  std::shared_ptr<FakeChannel> join() {
    auto channel = connect();
    link->set_limits({10min, 20s});
    return channel;
  }
  void fail_to_connect(base::Errc code = base::Errc::kUnavailable) {
    REQUIRE(loop.run_until([this] { return dialer.done != nullptr; }));
    std::exchange(dialer.done, nullptr)(base::fail(code, "nothing listens"));
  }
  static void cut(FakeChannel& channel) {
    channel.handlers.on_closed({base::Errc::kUnavailable, 0, "reset by peer"});
  }

  test::Loop loop{};
  HandClock clock;
  FakeDialer::Log dialer;
  std::vector<wire::Message> sent, received;  // `sent`: over the newest connection
  std::vector<base::Error> given_up;
  int late = 0, drained = 0;
  std::unique_ptr<SupervisorLink> link;
};

wire::WorkerExited exited(std::uint32_t attempt) {
  wire::WorkerExited report;
  report.attempt = {attempt};
  return report;
}

TEST_CASE("reports of the attempt are sent again on a new connection, after its Hello") {
  Link run;
  const auto channel = run.join();
  run.link->begin_attempt({0}, 1);
  run.link->send(exited(0));
  run.link->begin_attempt({1}, 1);
  run.link->send(exited(0));  // late: of the attempt before
  run.link->send(exited(1));
  Link::cut(*channel);
  run.link->send(wire::WorkersGone{{1}, 0, {}, {}});
  run.connect();
  REQUIRE(run.sent.size() == 3);
  CHECK(std::get<wire::Hello>(run.sent[0]).attempt == base::Attempt{1});
  CHECK(std::get<wire::WorkerExited>(run.sent[1]).attempt == base::Attempt{1});
  CHECK(std::holds_alternative<wire::WorkersGone>(run.sent[2]));
}

TEST_CASE("findings about the machine wait for the connection; output and progress do not") {
  Link run;
  const auto channel = run.join();
  Link::cut(*channel);
  run.link->send(wire::NodeHealth{});
  run.link->send(wire::WorkerProgress{});
  run.link->send(wire::Output{});
  const auto again = run.connect();
  CHECK(all_of<wire::NodeHealth>(run.sent).size() == 1);
  CHECK(run.sent.size() == 2);
  Link::cut(*again);
  const auto third = run.connect();
  CHECK(all_of<wire::NodeHealth>(run.sent).empty());  // it was delivered
  Link::cut(*third);
  for (std::size_t i = 0; i < kUndeliveredMax + 5; ++i) run.link->send(wire::NodeHealth{});
  run.connect();
  CHECK(all_of<wire::NodeHealth>(run.sent).size() == kUndeliveredMax);
}

TEST_CASE("what the supervisor sends reaches the agent, but for heartbeats") {
  Link run;
  const auto channel = run.join();
  channel->handlers.on_message(wire::Heartbeat{});
  channel->handlers.on_message(wire::ReservePort{});
  REQUIRE(run.received.size() == 1);
  CHECK(std::holds_alternative<wire::ReservePort>(run.received[0]));
}

TEST_CASE("only a refusal that is final ends the agent") {
  Link run;
  const auto channel = run.join();
  channel->handlers.on_message(wire::Refused{"try again", false});
  CHECK(run.given_up.empty());
  channel->handlers.on_message(wire::Refused{"given up: it was silent", true});
  REQUIRE(run.given_up.size() == 1);
  CHECK(run.given_up[0].code == base::Errc::kPermission);
  CHECK(run.given_up[0].what == "the supervisor refused us: given up: it was silent");
}

TEST_CASE("a supervisor that turns the agent away for good is not dialled again") {
  Link run;
  run.fail_to_connect(base::Errc::kPermission);
  REQUIRE(run.given_up.size() == 1);
  CHECK(run.dialer.dials == 1);
}

TEST_CASE("a supervisor that cannot be reached is waited for as long as the grace lasts") {
  Link run;
  const auto channel = run.join();
  Link::cut(*channel);
  run.clock.time += 10min - 1s;
  run.link->note_progress();
  run.fail_to_connect();
  CHECK(run.given_up.empty());
  run.clock.time += 1s;
  REQUIRE(run.loop.run_until([&] { return !run.given_up.empty(); }));
  CHECK(run.given_up[0].code == base::Errc::kUnavailable);
  CHECK(run.given_up[0].what == "the supervisor cannot be reached: nothing listens");
}

TEST_CASE("without a supervisor and without progress the agent gives up earlier") {
  Link run;
  const auto channel = run.join();
  Link::cut(*channel);
  run.clock.time += kIdleWithoutSupervisorMax;
  run.fail_to_connect();
  REQUIRE(run.given_up.size() == 1);
  CHECK(run.given_up[0].what.find("the workers make no progress") != std::string::npos);
}

TEST_CASE("a first supervisor that is late is reported once, and given up after its time") {
  Link run;
  run.fail_to_connect();
  CHECK(run.late == 0);
  run.clock.time += 11s;
  run.fail_to_connect();
  run.fail_to_connect();
  CHECK(run.late == 1);
  CHECK(run.given_up.empty());
  run.clock.time += 19s;
  CHECK(run.loop.run_until([&] { return !run.given_up.empty(); }));
}

TEST_CASE("a silent supervisor is hung up on and dialled again") {
  Link run;
  const auto channel = run.join();
  run.clock.time += 21s;
  REQUIRE(run.loop.run_until([&] { return channel->is_closed; }));
  CHECK(run.dialer.done != nullptr);
  CHECK(run.given_up.empty());
}

TEST_CASE("a supervisor that was superseded is refused") {
  Link run;
  const auto channel = run.join();
  wire::Welcome welcome;
  welcome.incarnation = 2;
  welcome.endpoints = {"10.0.0.9:1"};
  channel->handlers.on_message(welcome);
  CHECK(run.dialer.endpoints == welcome.endpoints);
  Link::cut(*channel);
  const auto old = run.connect("another");
  welcome.incarnation = 1;
  old->handlers.on_message(welcome);
  CHECK(old->is_closed);
  REQUIRE(all_of<wire::Refused>(run.sent).size() == 1);
  CHECK(all_of<wire::Refused>(run.sent)[0].text == "supervisor 2 has taken the run over");
  CHECK(run.received.size() == 1);
  CHECK(run.given_up.empty());
}

TEST_CASE("output goes on when another supervisor's connection replaces a congested one") {
  Link run;
  REQUIRE(run.loop.run_until([&] { return run.dialer.done != nullptr; }));
  const auto dial = run.dialer.done;
  const auto first = run.connect("one");
  const int before = run.drained;
  run.dialer.done = dial;  // it began before "one" called
  run.connect("two");
  CHECK(first->is_closed);
  CHECK(run.drained == before + 1);
}

}  // namespace
}  // namespace robustrun::agent::supervisor_link_test
