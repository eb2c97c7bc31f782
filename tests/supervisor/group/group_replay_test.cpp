// The conversation of a replay: what agents are told, and what of their answers counts.
#include "supervisor/group/group_replay.h"

#include <doctest/doctest.h>

#include <boost/asio/any_io_executor.hpp>
#include <chrono>
#include <map>
#include <optional>

#include "tests/support/loop.h"

namespace robustrun::supervisor::group_replay_test {
namespace {

using Outcome = GroupReplayed::Outcome;
using Told = wire::NodeReplayed::Outcome;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Two groups of two nodes, the last one with two slots.
struct Talk {
  explicit Talk(GroupReplay::Plan plan = {}, base::Nanos limit = seconds(60)) {
    ReplayNodes order{7, limit, {}};
    order.groups = {{{{4}, "10.0.0.4", 1}, {{1}, "10.0.0.1", 1}},
                    {{{2}, "10.0.0.2", 1}, {{3}, "10.0.0.3", 2}}};
    GroupReplay::Hands hands;
    hands.send = [this](base::NodeId node, const wire::Message& message) {
      told[node.value].push_back(message);
    };
    hands.on_done = [this](NodesReplayed done) { result.emplace(std::move(done)); };
    plan.attempt = {5};
    replay = GroupReplay::start(loop.executor(), clock, order, std::move(plan), hands);
    REQUIRE(loop.run_until([&] { return told.size() == 2; }));
  }

  template <class Message>
  [[nodiscard]] std::vector<Message> all(std::uint32_t node) {
    std::vector<Message> found;
    for (const wire::Message& message : told[node]) {
      if (const auto* one = std::get_if<Message>(&message)) found.push_back(*one);
    }
    return found;
  }
  bool port(std::uint32_t node, std::uint32_t number = 4000) {
    return replay->on_report(base::NodeId{node}, wire::PortReserved{{5}, number, "none left"});
  }
  void ends(std::uint32_t node, Told outcome, std::vector<std::int32_t> codes = {}) {
    replay->on_report(base::NodeId{node}, wire::NodeReplayed{7, outcome, std::move(codes), "why"});
  }
  const std::vector<GroupReplayed>& wait() {
    REQUIRE(loop.run_until([&] { return result.has_value(); }));
    CHECK(result->replay == 7);
    return result->groups;
  }

  robustrun::test::Loop loop{};
  base::SystemClock clock;
  std::map<std::uint32_t, std::vector<wire::Message>> told;
  std::optional<NodesReplayed> result;
  std::shared_ptr<GroupReplay> replay;
};

}  // namespace

TEST_CASE("each group begins as soon as its first node has a port, with ranks of its own") {
  Talk talk({{"small.py"}, {}});
  REQUIRE(talk.all<wire::ReservePort>(2).size() == 1);
  CHECK(talk.all<wire::ReservePort>(2)[0].attempt.value == 5);
  CHECK_FALSE(talk.port(3));  // it was not asked
  CHECK(talk.port(2, 4002));
  CHECK(talk.port(2, 4999));  // said twice
  REQUIRE(talk.all<wire::ReplayNode>(3).size() == 1);
  const wire::ReplayNode order = talk.all<wire::ReplayNode>(3)[0];
  CHECK(order.replay == 7);
  CHECK(order.command == std::vector<std::string>{"small.py"});
  CHECK(order.master_addr == "10.0.0.2");
  CHECK(order.master_port == 4002);
  CHECK(order.group_rank == 1);
  CHECK(order.group_world_size == 2);
  CHECK(order.world_size == 3);
  REQUIRE(order.slots.size() == 2);
  CHECK(order.slots[1].rank.value == 2);
  CHECK(order.slots[1].local_rank.value == 1);
  CHECK(talk.all<wire::ReplayNode>(4).empty());
}

TEST_CASE("groups pass and fail by themselves; what runs on is ended") {
  Talk talk({{"small.py"}, {}, milliseconds(20)});
  talk.port(4);
  talk.port(2);
  talk.ends(4, Told::kPassed);
  talk.ends(4, Told::kFailed);  // said twice
  talk.ends(9, Told::kFailed);
  talk.ends(1, Told::kPassed);
  talk.ends(3, Told::kFailed, {10});  // and node 2 waits for it
  const auto& groups = talk.wait();
  CHECK(groups[0].outcome == Outcome::kPassed);
  CHECK(groups[1].outcome == Outcome::kFailed);
  CHECK(groups[1].why == "why");
  CHECK(groups[1].named.empty());  // the user's own program may mean anything by 10
  CHECK(talk.all<wire::EndReplay>(2).size() == 1);
}

TEST_CASE("the alignment test names the outvoted machine") {
  Talk talk;
  talk.port(4);
  talk.port(2);
  talk.ends(4, Told::kPassed);
  talk.ends(1, Told::kPassed);
  talk.ends(2, Told::kFailed, {11});
  talk.ends(3, Told::kFailed, {0, 10});
  const auto& groups = talk.wait();
  CHECK(groups[1].named == std::vector<base::NodeId>{{3}});
  CHECK(talk.all<wire::ReplayNode>(3)[0].command.empty());
}

TEST_CASE("a group without a port, or that lost an agent, was not tested") {
  Talk talk;
  talk.port(4, 0);
  talk.port(2);
  talk.replay->on_agent_lost({3}, "no power");
  const auto& groups = talk.wait();
  CHECK(groups[0].outcome == Outcome::kUntested);
  CHECK(groups[0].why == "no free port: none left");
  CHECK(groups[1].outcome == Outcome::kUntested);
  CHECK(groups[1].why == "a node was lost meanwhile: no power");
  CHECK(talk.all<wire::EndReplay>(2).size() == 1);
}

TEST_CASE("what cannot be run is no failure") {
  Talk talk({{}, {}, milliseconds(10)});
  talk.port(4);
  talk.port(2);
  talk.ends(4, Told::kNotRun);
  talk.ends(3, Told::kNotRun);
  const auto& groups = talk.wait();
  CHECK(groups[0].outcome == Outcome::kUntested);
  CHECK(groups[1].outcome == Outcome::kUntested);
}

TEST_CASE("at the deadline what runs has failed, and what never began was not tested") {
  Talk talk({}, milliseconds(40));
  talk.port(2);
  const auto& groups = talk.wait();
  CHECK(groups[0].outcome == Outcome::kUntested);
  CHECK(groups[0].why == "it did not begin within 0.04 s");
  CHECK(groups[1].outcome == Outcome::kFailed);
  CHECK(groups[1].why == "it did not end within 0.04 s");
  CHECK(talk.all<wire::EndReplay>(3).size() == 1);
}

TEST_CASE("an agent that is connected again is told again, unless it has answered") {
  Talk talk;
  talk.replay->on_connected_again({2});
  CHECK(talk.all<wire::ReservePort>(2).size() == 2);
  talk.port(2);
  talk.ends(3, Told::kPassed);
  talk.replay->on_connected_again({2});
  talk.replay->on_connected_again({3});
  CHECK(talk.all<wire::ReplayNode>(2).size() == 2);
  CHECK(talk.all<wire::ReplayNode>(3).size() == 1);
}

TEST_CASE("one that is dropped ends what runs and says nothing") {
  Talk talk;
  talk.port(2);
  talk.replay->drop();
  CHECK(talk.all<wire::EndReplay>(2).size() == 1);
  CHECK(talk.all<wire::EndReplay>(4).size() == 1);
  talk.ends(2, Told::kPassed);
  talk.ends(3, Told::kPassed);
  CHECK_FALSE(talk.result);
}

}  // namespace robustrun::supervisor::group_replay_test
