// Which signals and orders from outside end the run, and which are the same one again.
#include "supervisor/driver/end_signals.h"

#include <doctest/doctest.h>

#include <csignal>
#include <optional>
#include <utility>

#include "supervisor/limits.h"
#include "tests/supervisor/agents/fake_nodes.h"
#include "tests/support/loop.h"

namespace robustrun::supervisor::test::end_signals_test {
namespace {

using namespace std::chrono_literals;

wire::StopRun stop(int signal, std::optional<base::Nanos> grace = {}) {
  wire::StopRun order;
  order.signal = signal;
  order.host = "n7";
  order.grace = grace;
  return order;
}

struct Signals {
  // `has_slurm`: a SIGTERM may be Slurm's, which is asked.
  explicit Signals(bool has_slurm = false) {
    SlurmSide::Hands slurm_hands;
    if (has_slurm) {
      slurm_hands.ask_why = [this](const auto& done) {
        ++slurm_asked;
        done({launcher::SlurmNotice::Why::kTimeLimitNear, "the time limit is near", 1'000'000s});
      };
      slurm_hands.timed_save = [](base::Nanos) { return "saving at 13:58:30"; };
      slurm_hands.time_to_save = [](base::Nanos) { return 80s; };
      slurm_hands.on_signal = [this](const SignalReceived& one) { events.emplace_back(one); };
    }
    slurm.emplace(loop.executor(), nodes.table, 0s, std::move(slurm_hands));
    signals.emplace(clock, nodes.table, *slurm, EndSignals::Signals{end_signals, batch},
                    EndSignals::Hands{[this] { return is_ending; }, [this] { return is_over; },
                                      [this](base::NodeId node) { return node == own_job; },
                                      [this](base::NodeId) { return is_known_to_end; },
                                      [this](EventBody event, base::NodeId) {
                                        events.push_back(std::move(event));
                                      }});
  }
  [[nodiscard]] const SignalReceived& only() const {
    REQUIRE(events.size() == 1);
    const auto* one = std::get_if<SignalReceived>(&events[0]);
    REQUIRE(one != nullptr);
    return *one;
  }

  robustrun::test::Loop loop{};
  SetClock clock;
  FakeNodes nodes{2};
  const std::vector<int> end_signals{SIGTERM, SIGINT};
  BatchSignals batch;
  std::optional<base::NodeId> own_job;  // the node that a job of its own brought
  int slurm_asked = 0;
  bool is_ending = false, is_over = false;
  bool is_known_to_end = false;  // each node, since its first report
  std::vector<EventBody> events;
  std::optional<SlurmSide> slurm;
  std::optional<EndSignals> signals;
};

TEST_CASE("a signal that an agent passed on and our own first one shortly after are one") {
  Signals run;
  run.signals->on_report({0}, stop(SIGINT));
  CHECK(run.only().signal == SIGINT);
  CHECK(run.only().by == "SIGINT from n7");
  run.signals->received(SIGINT, false);
  CHECK(run.events.size() == 1);
  run.signals->received(SIGINT, false);  // the user means it
  CHECK(run.events.size() == 2);
}

TEST_CASE("another signal, or one that comes late, is one of its own") {
  for (const bool is_late : {false, true}) {
    Signals run;
    run.signals->on_report({0}, stop(SIGINT));
    if (is_late) run.clock.time += kRelayedSignalMax;
    run.signals->received(is_late ? SIGINT : SIGTERM, false);
    CHECK(run.events.size() == 2);
  }
}

TEST_CASE("a batch system's signal, to us and to the script that passes it on, is one") {
  for (const int first : {SIGUSR2, SIGTERM}) {
    Signals run;
    run.batch = {"Grid Engine", {SIGUSR2}};
    run.signals->received(first, false);
    CHECK(run.only().signal == SIGTERM);
    CHECK(run.only().by == (first == SIGUSR2 ? "SIGUSR2 of Grid Engine" : ""));
    run.signals->received(first == SIGUSR2 ? SIGTERM : SIGUSR2, false);
    run.signals->received(SIGUSR1, true);
    CHECK(run.events.size() == 2);
    run.clock.time += kPassedOnSignalMax;
    run.signals->received(SIGTERM, false);
    CHECK(run.events.size() == 3);
  }
}

TEST_CASE("a batch system's signal to an agent, to us and to the script is one") {
  Signals run;
  run.batch = {"PBS", {}};
  run.signals->on_report({0}, stop(SIGTERM));
  run.signals->received(SIGTERM, false);
  run.signals->received(SIGTERM, false);
  CHECK(run.events.size() == 1);
}

TEST_CASE("workers' signals to their parent end the run once, and only those that end runs") {
  Signals run;
  run.signals->on_report({0}, stop(SIGUSR1));
  CHECK(run.events.empty());
  run.signals->on_report({0}, stop(SIGTERM));
  run.is_ending = true;
  run.signals->on_report({1}, stop(SIGTERM));
  CHECK(run.events.size() == 1);
}

TEST_CASE("the agent of this machine is told that its signal was received; others are not") {
  Signals here;
  here.signals->on_report({0}, stop(SIGTERM));
  CHECK(here.nodes.sent_to<wire::StopRun>(0).size() == 1);
  Signals remote;
  remote.nodes.table.keep_orders();
  remote.signals->on_report({0}, stop(SIGTERM));
  CHECK(remote.nodes.sent_to<wire::StopRun>(0).empty());
}

TEST_CASE("Slurm is asked why it sent SIGTERM, whichever way that came") {
  for (const int way : {0, 1, 2}) {
    CAPTURE(way);
    Signals run(true);
    if (way == 0) run.signals->received(SIGTERM, false);
    if (way == 1) run.signals->on_report({0}, stop(SIGTERM));
    wire::NodeEnding ending;  // without a signal: Slurm is the reason
    if (way == 2) run.signals->on_report({0}, ending);
    CHECK(run.slurm_asked == 1);
    CHECK(run.events.size() == (way == 2 ? 1 : 0));
    run.signals->received(SIGINT, false);  // the user's
    CHECK(run.events.size() == (way == 2 ? 2 : 1));
  }
}

TEST_CASE("a warning of Slurm that is only told again is no second one") {
  Signals run(true);
  const auto tell = [&run](std::uint32_t node) {
    wire::NodeEnding ending;
    run.signals->on_report({node}, ending);
    return run.slurm_asked;
  };
  CHECK(tell(0) == 1);
  run.is_known_to_end = true;
  SUBCASE("on a new connection") {
    run.clock.time += 60s;
    run.signals->on_connected_again({0});
    CHECK(tell(0) == 1);
    CHECK(tell(0) == 2);  // Slurm's next one
  }
  SUBCASE("by a node whose report comes after Slurm's answer") {
    CHECK(tell(1) == 1);
    CHECK(tell(1) == 2);  // Slurm's next one
    CHECK(tell(0) == 2);
  }
  SUBCASE("by the batch script, which got it, too") {
    run.signals->received(SIGTERM, false);
    CHECK(run.slurm_asked == 1);
    run.signals->on_report({1}, stop(SIGTERM));  // an agent that leaves the answer to us
    CHECK(run.slurm_asked == 1);
    run.signals->received(SIGTERM, false);
    CHECK(run.slurm_asked == 2);  // Slurm's next one
    CHECK(tell(1) == 2);
  }
  SUBCASE("but a later one is") {
    run.clock.time += kRelayedSignalMax;
    CHECK(tell(1) == 2);
  }
  SUBCASE("but the first one of an agent that follows a lost one is") {
    run.signals->on_connected_again({0});
    run.nodes.table[{0}].generation = {2};
    CHECK(tell(0) == 2);
  }
}

TEST_CASE("the end of a job that brought one node is that node's alone") {
  Signals run(true);
  run.own_job = base::NodeId{1};
  run.signals->on_report({1}, stop(SIGTERM));
  CHECK(run.events.empty());
  wire::NodeEnding ending;
  run.signals->on_report({1}, ending);
  CHECK(run.slurm_asked == 0);
  REQUIRE(run.events.size() == 1);
  CHECK(std::get<NodeEnding>(run.events[0]).signal == SIGTERM);
}

TEST_CASE("a signal that is only forwarded is no order to end, and does not count as the first") {
  Signals run;
  run.signals->on_report({0}, stop(SIGINT));
  run.signals->received(SIGUSR1, true);
  REQUIRE(run.events.size() == 2);
  CHECK(std::get<SignalReceived>(run.events[1]).forward_only);
  run.signals->received(SIGINT, false);
  CHECK(run.events.size() == 2);
}

TEST_CASE("an order from another machine must be one that a user could give here") {
  Signals run;
  for (const auto& wrong : {stop(0), stop(-1), stop(NSIG), stop(SIGKILL), stop(SIGSTOP),
                            stop(SIGTERM, -1s), stop(SIGTERM, kStopGraceMax + 1s)}) {
    run.signals->on_stop(wrong);
  }
  CHECK(run.events.empty());
  run.signals->on_stop(stop(SIGTERM, 5s));
  CHECK(run.only().by == "robustrun stop on n7");
  CHECK(run.only().grace == base::Nanos(5s));
  run.is_over = true;
  run.signals->on_stop(stop(SIGTERM));
  CHECK(run.events.size() == 1);
}

}  // namespace
}  // namespace robustrun::supervisor::test::end_signals_test
