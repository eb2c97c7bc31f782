// What the agent does with its supervisor's messages, over a link that does not exist.
#include "agent/node_agent.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tests/agent/copies/copy_nodes.h"
#include "tests/support/fake_channel.h"
#include "tests/support/fake_processes.h"
#include "tests/support/scratch.h"

namespace robustrun::agent::node_agent_test {
namespace {

using test::all_of;

struct FakeLink final : SupervisorLink {
  struct Log {
    std::vector<wire::Message> sent;
    std::vector<base::Attempt> attempts;
    Handlers handlers;
    bool is_closed = false;
  };
  explicit FakeLink(Log& to) : log(to) {}
  void send(const wire::Message& message) override { log.sent.push_back(message); }
  [[nodiscard]] bool congested() const override { return false; }
  void set_limits(const Limits&) override {}
  void begin_attempt(base::Attempt attempt, std::uint32_t) override {
    log.attempts.push_back(attempt);
  }
  void note_progress() override {}
  std::weak_ptr<wire::Channel> close() override {
    log.is_closed = true;
    return {};
  }
  Log& log;
};

struct Agent {
  explicit Agent(std::vector<int> forwarded = {}) {
    NodeAgent::Settings settings;
    settings.forwarded_signals = std::move(forwarded);
    settings.over_network = true;
    settings.node_environment = {"SLURM_PROCID=3"};
    settings.processes = &processes;
    agent.emplace(loop, std::move(settings),
                  [this](const NodeAgent::Means& means, SupervisorLink::Handlers handlers) {
                    peers = &means.peers;
                    link.handlers = std::move(handlers);
                    return std::make_unique<FakeLink>(link);
                  });
  }
  void hear(wire::Message message) { link.handlers.on_message(std::move(message)); }
  void welcome() {
    wire::Welcome welcome;
    welcome.node = {1};
    welcome.heartbeat_interval = std::chrono::hours(1);
    welcome.workers.mode = wire::LaunchMode::kExecutable;
    welcome.workers.program = "/bin/true";
    welcome.workers.working_directory = "/";
    welcome.workers.run_id = "fake";
    welcome.workers.environment = {"PATH=/usr/bin:/bin", "SLURM_PROCID=0", "HOME=" + home.path(),
                                   "XDG_RUNTIME_DIR=" + home.path(),
                                   "ROBUSTRUN_HEALTH_ROOT=" + home.path()};
    hear(std::move(welcome));
  }
  template <class Condition>
  [[nodiscard]] bool run_until(Condition condition) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!condition() && std::chrono::steady_clock::now() < end) {
      loop.restart();
      loop.run_one_for(std::chrono::milliseconds(5));
    }
    return condition();
  }
  // One worker runs.
  void start() {
    wire::StartWorkers order;
    order.slots.push_back({{0}, {0}, 0});
    order.world_size = 1;
    order.master_addr = "127.0.0.1";
    hear(std::move(order));
    REQUIRE(run_until([this] { return processes.started.size() == 1; }));
    processes[0].begin(100);
  }
  template <class Message>
  [[nodiscard]] std::vector<Message> all() const {
    return all_of<Message>(link.sent);
  }

  const test::Scratch home;
  boost::asio::io_context loop{1};
  test::FakeProcesses processes;
  FakeLink::Log link;
  PeerCopies* peers = nullptr;
  std::optional<NodeAgent> agent;
};

TEST_CASE("an order before the welcome is dropped, which is reported") {
  Agent run;
  run.hear(wire::ReservePort{});
  CHECK(run.all<wire::PortReserved>().empty());
  REQUIRE(run.run_until([&] { return run.all<wire::Notice>().size() == 1; }));
  CHECK(run.all<wire::Notice>()[0].text == "an order came before the welcome and was dropped");
  CHECK_FALSE(run.agent->welcomed());
  run.welcome();
  CHECK(run.agent->welcomed());
  run.hear(wire::ReservePort{});
  CHECK(run.all<wire::PortReserved>().size() == 1);
}

TEST_CASE("workers get this node's variables in place of the supervisor's") {
  Agent run;
  run.welcome();
  run.start();
  const auto& environment = run.processes[0].options.environment;
  CHECK(std::ranges::find(environment, "SLURM_PROCID=3") != environment.end());
  CHECK(std::ranges::find(environment, "SLURM_PROCID=0") == environment.end());
  CHECK(run.all<wire::WorkerStarted>().size() == 1);
  CHECK(run.link.attempts.size() == 1);
}

TEST_CASE("a second welcome, after a new connection, leaves the workers alone") {
  Agent run;
  run.welcome();
  run.start();
  run.welcome();
  CHECK(run.processes[0].kills == 0);
  CHECK(run.processes[0].signals.empty());
}

TEST_CASE("a signal that comes to a command and from the leader reaches its workers once") {
  Agent run({SIGUSR1});
  run.welcome();
  run.start();
  const std::vector<int>& signals = run.processes[0].signals;
  const wire::SignalWorkers relayed{base::Attempt{0}, SIGUSR1};
  REQUIRE(std::raise(SIGUSR1) == 0);
  REQUIRE(run.run_until([&] { return signals.size() == 1; }));
  run.hear(relayed);
  CHECK(signals.size() == 1);
  // The next one, first from the leader.
  run.hear(relayed);
  CHECK(signals.size() == 2);
  REQUIRE(std::raise(SIGUSR1) == 0);
  REQUIRE(std::raise(SIGUSR1) == 0);  // this is one more
  REQUIRE(run.run_until([&] { return signals.size() >= 3; }));
  run.loop.restart();
  run.loop.poll();
  CHECK(signals == std::vector<int>(3, SIGUSR1));
  // Two at a time.
  REQUIRE(std::raise(SIGUSR1) == 0);
  REQUIRE(run.run_until([&] { return signals.size() == 4; }));
  for (int i = 0; i < 2; ++i) run.hear(relayed);
  CHECK(signals.size() == 4);
}

TEST_CASE("an agent passes on each of the leader's signals if it takes none itself") {
  Agent run;
  run.welcome();
  run.start();
  for (int i = 0; i < 2; ++i) run.hear(wire::SignalWorkers{base::Attempt{0}, SIGUSR1});
  CHECK(run.processes[0].signals == std::vector<int>(2, SIGUSR1));
}

TEST_CASE("a dismissed agent kills what is left, says goodbye, and has the run's exit code") {
  Agent run;
  run.welcome();
  run.start();
  run.hear(wire::Dismiss{3});
  CHECK(run.processes[0].kills == 1);
  CHECK_FALSE(run.link.is_closed);
  run.processes[0].end(test::killed_by(SIGKILL));
  REQUIRE(run.run_until([&] { return run.link.is_closed; }));
  CHECK(run.all<wire::Bye>().size() == 1);
  CHECK(run.agent->end().exit_code == 3);
  CHECK(run.agent->end().left_by == 0);
}

TEST_CASE("an agent that is dismissed while it saves a lost node's copies saves them first") {
  const test::TwoMounts mounts("/dev/shm");
  test::CopyRun others;
  Agent run;
  run.welcome();
  const std::string endpoint = run.peers->open("run-1", others.identity({1}, {1}), "127.0.0.1");
  REQUIRE_FALSE(endpoint.empty());
  auto lost = std::make_unique<test::CopyNode>(others, 2);
  run.hear(wire::PlaceCopies{{1}, {}, {lost->route(0)}, {}});
  lost->place({{base::Rank{0}, {1}, {1}, endpoint}}, {});
  lost->stage(0, 6, mounts.directories);
  REQUIRE(run.run_until([&] {
    others.loop.restart();
    others.loop.poll();
    return lost->kept(0) && lost->kept(0)->at_peer;
  }));
  lost.reset();
  run.hear(wire::SaveHeldCopies{{1}, 1, {base::Rank{0}}});
  run.hear(wire::Dismiss{0});
  REQUIRE(run.run_until([&] { return run.link.is_closed; }));
  const auto saved = run.all<wire::HeldCopiesSaved>();
  REQUIRE(saved.size() == 1);
  CHECK(saved[0].saved == 1);
  CHECK(run.all<wire::Bye>().size() == 1);
}

TEST_CASE("an agent that loses its supervisor for good kills everything and tells why") {
  for (const base::Errc code : {base::Errc::kUnavailable, base::Errc::kPermission}) {
    Agent run;
    run.welcome();
    run.start();
    run.link.handlers.on_given_up({code, 0, "the supervisor cannot be reached"});
    CHECK(run.processes[0].kills == 1);
    run.processes[0].end(test::killed_by(SIGKILL));
    REQUIRE(run.run_until([&] { return run.link.is_closed; }));
    CHECK_FALSE(run.agent->end().exit_code);
    CHECK(run.agent->end().why == "the supervisor cannot be reached");
    CHECK(run.agent->end().is_cut_off == (code == base::Errc::kUnavailable));
  }
}

}  // namespace
}  // namespace robustrun::agent::node_agent_test
