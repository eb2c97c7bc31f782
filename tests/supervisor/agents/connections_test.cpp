// How agents join, come back, and are given up.
#include "supervisor/agents/connections.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "supervisor/agents/agent_listener.h"
#include "supervisor/limits.h"
#include "tests/supervisor/agents/fake_nodes.h"
#include "tests/supervisor/job_harness.h"
#include "tests/support/captured_log.h"
#include "tests/support/loop.h"
#include "wire/link/acceptor.h"
#include "wire/net/local_addresses.h"

namespace robustrun::supervisor::test::connections_test {
namespace {

using namespace std::chrono_literals;

struct FakeLauncher final : launcher::AgentLauncher {
  void launch(launcher::LaunchOrder order, Handlers handlers) override {
    launched.emplace_back(std::move(order), std::move(handlers));
  }
  void probe(base::NodeId, std::function<void(bool)>) override {}
  void kill_all() override {}
  void abandon() override { is_abandoned = true; }
  [[nodiscard]] bool idle() const override { return is_idle; }

  std::vector<std::pair<launcher::LaunchOrder, Handlers>> launched;
  bool is_idle = true, is_abandoned = false;
};

// Two nodes, "n0" and "n1", whose agents have not been launched.
struct Agents {
  explicit Agents(bool is_remote = true, bool is_open = false) : table(FakeNodes::specs(2)) {
    request.spec.nodes = FakeNodes::specs(2);
    request.spec.nodes[0].address = "10.0.0.1";
    request.spec.group.open = is_open;
    request.network.lease = {1s, 3s, 10s, 10min};
    request.workers.log_directory = "/logs";
    if (is_remote) table.keep_orders();
    AgentConnections::Hands hands;
    hands.on_event = [this](EventBody event, base::NodeId node) {
      if (std::holds_alternative<NodeOffered>(event) && takes_offers) table[node].generation = {1};
      events.emplace_back(std::move(event), node);
    };
    hands.on_message = [this](base::NodeId node, wire::Message message) {
      ++messages;
      if (const auto* hello = std::get_if<wire::Hello>(&message)) {
        connections->on_report(node, *hello);
      }
    };
    hands.on_connected = [this](base::NodeId node, bool is_again) {
      connected.emplace_back(node.value, is_again);
    };
    hands.on_broken = [this](base::NodeId, const std::string& why) { broken.push_back(why); };
    hands.on_lost = [this](base::NodeId, const AgentLost& one) { lost.push_back(one); };
    hands.on_left = [this] { ++left; };
    connections.emplace(loop.executor(), clock,
                        AgentConnections::Sources{request, job.job, table, launcher},
                        std::move(hands));
  }

  void launch(std::uint32_t node, std::uint32_t generation = 1) {
    const std::size_t before = launcher.launched.size();
    connections->perform(LaunchAgent{{node}, {generation}});
    REQUIRE(loop.run_until([&] { return launcher.launched.size() > before; }));
  }
  std::shared_ptr<FakeChannel> admit(std::uint32_t node, std::uint32_t generation = 1,
                                     wire::Hello hello = {}) {
    auto channel = std::make_shared<FakeChannel>(sent);
    connections->admit({"r", false, {node}, {generation}}, std::move(hello), channel);
    return channel;
  }
  std::shared_ptr<FakeChannel> join(std::uint32_t node) {
    launch(node);
    return admit(node);
  }
  template <class Message>
  [[nodiscard]] std::vector<Message> all() const {
    return robustrun::test::all_of<Message>(sent);
  }

  Harness job{make_spec({2, 2})};
  robustrun::test::CapturedLog log;
  robustrun::test::Loop loop{};
  SetClock clock;
  RunRequest request;
  NodeTable table;
  FakeLauncher launcher;
  std::vector<wire::Message> sent;
  std::vector<std::pair<EventBody, base::NodeId>> events;
  std::vector<std::pair<std::uint32_t, bool>> connected;
  std::vector<std::string> broken;
  std::vector<AgentLost> lost;
  std::size_t messages = 0;
  int left = 0;
  bool takes_offers = true;
  std::optional<AgentConnections> connections;
};

TEST_CASE("agents get the address where nodes meet first, then the others") {
  robustrun::test::Loop loop;
  NetworkPlan network;
  network.run_id = "r";
  const auto all = wire::local_addresses().value();
  network.first_addresses = {"198.51.100.1", all.back()};  // the first one is not ours
  const auto listener = AgentListener::open(loop.executor(), network, {});
  REQUIRE_MESSAGE(listener.has_value(), listener.error().what);
  const auto& endpoints = (*listener)->endpoints();
  REQUIRE(endpoints.size() == std::min(all.size(), kEndpointsMax));
  CHECK(endpoints.front() == wire::endpoint_text(all.back(), (*listener)->port()));
  if (all.size() > 1) CHECK(endpoints[1] == wire::endpoint_text(all[0], (*listener)->port()));
}

TEST_CASE("a launched agent joins with its Hello, and is told what its workers need") {
  Agents run;
  const auto channel = run.join(0);
  REQUIRE(run.events.size() == 1);
  CHECK(std::holds_alternative<AgentJoined>(run.events[0].first));
  CHECK(run.connected == std::vector{std::pair(0U, false)});
  CHECK(run.table[{0}].address == "10.0.0.1");  // its Hello names none
  const auto welcomes = run.all<wire::Welcome>();
  REQUIRE(welcomes.size() == 1);
  CHECK(welcomes[0].generation == base::Generation{1});
  CHECK(welcomes[0].silence_max == base::Nanos(10s));
  CHECK(welcomes[0].workers.log_directory == "/logs/node0_n0");
  CHECK(welcomes[0].workers.environment.back() == "ROBUSTRUN_NODE=n0");
}

TEST_CASE("an agent of another protocol is turned away") {
  Agents run;
  run.launch(0);
  wire::Hello hello;
  hello.protocol = wire::kProtocolVersion + 1;
  CHECK(run.admit(0, 1, hello)->is_closed);
  CHECK_FALSE(run.table[{0}].joined);
  CHECK(run.events.empty());
  CHECK(run.log.text().find("install the same robustrun everywhere") != std::string::npos);
}

TEST_CASE("an agent whose connection broke may come back, and is connected again") {
  Agents run;
  auto channel = run.join(0);
  channel->handlers.on_closed({base::Errc::kUnavailable, 0, "reset by peer"});
  CHECK(run.broken == std::vector<std::string>{"its connection broke: reset by peer"});
  CHECK(run.table[{0}].broken_at == run.clock.time);
  CHECK(run.table[{0}].returns_within == base::Nanos(3s));
  channel = run.admit(0);
  CHECK_FALSE(run.table[{0}].broken_at);
  CHECK(run.connected.back() == std::pair(0U, true));
  CHECK(run.events.size() == 1);  // it had joined
  CHECK(run.lost.empty());
}

TEST_CASE("a second connection of an agent replaces the first") {
  Agents run;
  const auto first = run.join(0);
  const auto second = run.admit(0);
  CHECK(first->is_closed);
  CHECK_FALSE(second->is_closed);
}

TEST_CASE("an agent that was given up is fenced: refused, and its messages go nowhere") {
  Agents run;
  const auto channel = run.join(0);
  run.table[{0}].orders.emplace_back(wire::ReservePort{});
  run.clock.time += 4s;
  run.connections->lose({0}, {"it was silent", false});
  run.connections->lose({0}, {"again", true});
  REQUIRE(run.lost.size() == 1);
  CHECK(run.lost[0].why == "it was silent");
  CHECK_FALSE(run.lost[0].node_answers);
  CHECK(run.lost[0].silent == base::Nanos(4s));
  CHECK(channel->is_closed);
  CHECK(run.table[{0}].orders.empty());
  CHECK(run.all<wire::Refused>().size() == 1);
  CHECK(run.admit(0)->is_closed);
  CHECK(run.all<wire::Refused>().back().text.find("was given up") != std::string::npos);
  run.launch(0, 2);
  const std::size_t before = run.messages;
  channel->handlers.on_message(wire::Heartbeat{});
  CHECK(run.messages == before);
  CHECK_FALSE(run.admit(0, 2)->is_closed);
}

TEST_CASE("a launcher's session may end before its agent does") {
  Agents run;
  const auto channel = run.join(0);
  run.launcher.launched[0].second.on_lost({"ssh ended", true});
  CHECK(run.lost.empty());
  channel->handlers.on_closed({base::Errc::kUnavailable, 0, "end of stream"});
  REQUIRE(run.lost.size() == 1);
  CHECK(run.lost[0].why == "ssh ended");
  CHECK(run.broken.empty());
}

TEST_CASE("on one machine the launcher's word counts, and not the end of the connection") {
  Agents run(false);
  const auto channel = run.join(0);
  channel->handlers.on_closed({base::Errc::kUnavailable, 0, "end of stream"});
  CHECK(run.lost.empty());
  run.launcher.launched[0].second.on_lost({"killed by SIGKILL", true});
  REQUIRE(run.lost.size() == 1);
  CHECK(run.lost[0].why == "killed by SIGKILL");
  CHECK(run.all<wire::Refused>().empty());
}

TEST_CASE("an agent that was told to end on its node is lost, but not while the run ends") {
  for (const bool is_over : {false, true}) {
    Agents run;
    run.join(0);
    if (is_over) run.connections->end();
    run.connections->on_report({0}, wire::Bye{});
    CHECK(run.lost.size() == (is_over ? 0 : 1));
  }
}

TEST_CASE("an agent with workers that another supervisor ordered is left to it") {
  Agents run;
  run.job.run();
  run.join(0);
  wire::Hello hello;
  hello.attempt = run.job.job.attempt();
  hello.ordered_by = 1;
  run.admit(0, 1, hello);
  CHECK(run.lost.empty());
  hello.ordered_by = 7;
  run.admit(0, 1, hello);
  REQUIRE(run.lost.size() == 1);
  CHECK(run.lost[0].why == kUsedByAnother);
}

TEST_CASE("an agent that was taken over has the time of a silent one to come back") {
  Agents run;
  run.connections->perform(AdoptNode{{0}, {4}, "n0", AdoptNode::Agent::kJoined, "10.0.0.1:7"});
  const NodeLink& link = run.table[{0}];
  CHECK(link.joined);
  CHECK(link.broken_at == run.clock.time);
  CHECK(link.returns_within == base::Nanos(10s));
  run.admit(0, 4);
  CHECK_FALSE(link.broken_at);
  CHECK(link.listens.empty());
  CHECK(run.connected == std::vector{std::pair(0U, true)});
  run.connections->perform(AdoptNode{{1}, {2}, "n1", AdoptNode::Agent::kLost, {}});
  CHECK(run.admit(1, 2)->is_closed);
  Agents here(false);
  here.connections->perform(AdoptNode{{0}, {1}, "n0", AdoptNode::Agent::kJoined, {}});
  REQUIRE(here.lost.size() == 1);
  CHECK(here.lost[0].why == "it ended with its supervisor");
}

TEST_CASE("machines may join an open group by themselves, as long as the core takes them") {
  wire::Enrol enrol;
  enrol.host = "late";
  enrol.slots = 4;
  const wire::ConnectionAddresses from{"10.0.0.1", "10.0.0.9"};
  Agents closed;
  CHECK_FALSE(closed.connections->take_volunteer(enrol, from));
  Agents run(true, true);
  const auto taken = run.connections->take_volunteer(enrol, from);
  REQUIRE(taken);
  CHECK(taken->first == base::NodeId{2});
  const auto* offer = std::get_if<NodeOffered>(&run.events.back().first);
  REQUIRE(offer != nullptr);
  CHECK(offer->spec.address == "10.0.0.9");
  CHECK(offer->spec.volunteer);
  run.takes_offers = false;
  CHECK_FALSE(run.connections->take_volunteer(enrol, from));
  run.connections->end();
  CHECK(run.connections->take_volunteer(enrol, from).error().what == "the run has ended");
}

TEST_CASE("the difference of two clocks is that of the message that was fastest") {
  Agents run;
  run.join(0);
  run.connections->on_report({0}, wire::Heartbeat{1, run.clock.time - 60s});
  CHECK(run.table[{0}].clock_offset == base::Nanos(60s));
  run.connections->on_report({0}, wire::Heartbeat{2, run.clock.time - 59s});
  run.connections->on_report({0}, wire::Heartbeat{3, run.clock.time - 61s});
  CHECK(run.table[{0}].clock_offset == base::Nanos(59s));
}

TEST_CASE("on one machine the run's clock may be ahead of the one that agents read") {
  Agents here(false);
  here.clock.time = base::SystemClock().now() + 1000s;
  here.join(0);
  CHECK(here.table[{0}].clock_offset > base::Nanos(900s));  // less what the test took
  CHECK(here.table[{0}].clock_offset <= base::Nanos(1000s));
  here.connections->on_report({0}, wire::Heartbeat{1, here.clock.time - 60s});
  CHECK(here.table[{0}].clock_offset > base::Nanos(900s));
}

TEST_CASE("a console that catches up, and a connection that ends, let a paused agent go on") {
  Agents run;
  const auto channel = run.join(0);
  run.table.pause({0});
  CHECK(channel->is_paused);
  run.clock.time += 5s;
  channel->handlers.on_peer_gone();
  CHECK_FALSE(channel->is_paused);
  CHECK(run.table[{0}].heard_at == run.clock.time);
}

TEST_CASE("at the end agents that have not joined are hung up on, and the last one is noticed") {
  Agents run;
  const auto joined = run.join(0);
  run.launch(1);
  const auto starting = std::make_shared<FakeChannel>(run.sent);
  run.table[{1}].channel = starting;
  run.connections->end();
  CHECK(starting->is_closed);
  CHECK_FALSE(joined->is_closed);
  CHECK_FALSE(run.connections->have_left());
  joined->handlers.on_closed({base::Errc::kUnavailable, 0, "end of stream"});
  CHECK(run.left == 1);
  CHECK(run.broken.empty());
  CHECK(run.connections->have_left());
  run.launcher.is_idle = false;
  CHECK_FALSE(run.connections->have_left());
  run.launcher.launched[0].second.on_lost({"ended", true});
  CHECK(run.left == 2);
  CHECK(run.lost.empty());
  CHECK(run.admit(0)->is_closed);
  CHECK(run.all<wire::Refused>().back().text == "the run has ended");
}

TEST_CASE("agents that obey another supervisor do not end with this one") {
  Agents run;
  const auto channel = run.join(0);
  run.connections->end();
  run.connections->leave_to_successor();
  CHECK(run.launcher.is_abandoned);
  CHECK(channel->is_closed);
  CHECK(run.all<wire::Dismiss>().empty());
}

TEST_CASE("only agents on other machines get heartbeats") {
  for (const bool is_remote : {false, true}) {
    Agents run(is_remote);
    run.join(0);
    run.connections->beat({0}, 7);
    CHECK(run.all<wire::Heartbeat>().size() == (is_remote ? 1 : 0));
  }
}

}  // namespace
}  // namespace robustrun::supervisor::test::connections_test
