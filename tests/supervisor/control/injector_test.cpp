#include "supervisor/control/injector.h"

#include <doctest/doctest.h>

#include <optional>
#include <set>

#include "base/core/clock.h"
#include "supervisor/limits.h"
#include "tests/support/loop.h"

namespace robustrun::supervisor::injector_test {
namespace {

using base::Errc;
using base::NodeId;
using base::Rank;
using wire::FaultKind;

// Two nodes at work, whose ranks are not in the order of their numbers, and a spare.
Injector::Group group() {
  return {{5},
          {{NodeId{2}, "beta", "10.0.0.2", {Rank{0}, Rank{1}}},
           {NodeId{0}, "alpha", "10.0.0.1", {Rank{2}, Rank{3}}},
           {NodeId{1}, "gamma", "", {}}}};
}

FaultRequest request(FaultKind kind, std::uint64_t draw = 0) {
  FaultRequest made;
  made.kind = kind;
  made.draw = draw;
  return made;
}

FaultRequest of_rank(FaultKind kind, std::uint32_t rank) {
  FaultRequest made = request(kind);
  made.rank = Rank{rank};
  return made;
}

FaultRequest of_node(FaultKind kind, const std::string& node, std::uint64_t draw = 0) {
  FaultRequest made = request(kind, draw);
  made.node = node;
  return made;
}

Errc code_of(const FaultRequest& asked, const Injector::Group& in = group()) {
  const auto victim = choose_target(asked, in);
  REQUIRE_FALSE(victim);
  return victim.error().code;
}

TEST_CASE("a named rank is found where it runs") {
  const auto victim = choose_target(of_rank(FaultKind::kKill, 3), group());
  REQUIRE(victim);
  CHECK(victim->node == NodeId{0});
  CHECK(victim->node_name == "alpha");
  CHECK(victim->rank == Rank{3});
  CHECK(victim->local_rank == base::LocalRank{1});
  CHECK(code_of(of_rank(FaultKind::kKill, 4)) == Errc::kInvalidArgument);
  CHECK(
      choose_target(of_rank(FaultKind::kKill, 4), group()).error().what.find("the largest is 3") !=
      std::string::npos);
}

TEST_CASE("a fault of a node that is named by a rank hits that rank's node, and no rank") {
  const auto victim = choose_target(of_rank(FaultKind::kAgentDeath, 1), group());
  REQUIRE(victim);
  CHECK(victim->node == NodeId{2});
  CHECK_FALSE(victim->rank);
  CHECK_FALSE(victim->local_rank);
  CHECK(code_of(of_rank(FaultKind::kNetDrop, 9)) == Errc::kInvalidArgument);
}

TEST_CASE("a node goes by its name or its address") {
  CHECK(choose_target(of_node(FaultKind::kNetDrop, "alpha"), group())->node == NodeId{0});
  CHECK(choose_target(of_node(FaultKind::kNetDrop, "10.0.0.2"), group())->node == NodeId{2});
  CHECK(code_of(of_node(FaultKind::kNetDrop, "10.0.0.3")) == Errc::kInvalidArgument);
  const auto near = choose_target(of_node(FaultKind::kKill, "alhpa"), group());
  REQUIRE_FALSE(near);
  CHECK(near.error().what.find("did you mean alpha?") != std::string::npos);
  const auto hostile = choose_target(of_node(FaultKind::kKill, "\x1b[2J"), group());
  CHECK(hostile.error().what.find('\x1b') == std::string::npos);
}

TEST_CASE("of a named node's ranks one is drawn; a spare has none") {
  std::set<Rank> hit;
  for (std::uint64_t draw = 0; draw < 10; ++draw) {
    hit.insert(*choose_target(of_node(FaultKind::kKill, "alpha", draw), group())->rank);
  }
  CHECK(hit == std::set{Rank{2}, Rank{3}});
  CHECK(code_of(of_node(FaultKind::kKill, "gamma")) == Errc::kInvalidArgument);
  CHECK(choose_target(of_node(FaultKind::kAgentDeath, "gamma"), group())->node == NodeId{1});
}

TEST_CASE("a draw reaches every rank and every node at work, and no spare") {
  std::set<Rank> ranks;
  std::set<NodeId> nodes;
  for (std::uint64_t draw = 0; draw < 8; ++draw) {
    ranks.insert(*choose_target(request(FaultKind::kKill, draw), group())->rank);
    nodes.insert(choose_target(request(FaultKind::kAgentDeath, draw), group())->node);
  }
  CHECK(ranks.size() == 4);
  CHECK(nodes == std::set{NodeId{0}, NodeId{2}});
  CHECK(choose_target(request(FaultKind::kKill, UINT64_MAX), group()));
}

TEST_CASE("the same draws hit the same ranks, in whatever order the nodes are listed") {
  Injector::Group other = group();
  std::swap(other.nodes[0], other.nodes[1]);
  base::Rng rng(7);
  for (int i = 0; i < 50; ++i) {
    const std::uint64_t draw = rng.next();
    CHECK(choose_target(request(FaultKind::kKill, draw), group())->rank ==
          choose_target(request(FaultKind::kKill, draw), other)->rank);
  }
}

TEST_CASE("there is no target while no worker runs") {
  const Injector::Group empty{{0}, {}};
  const Injector::Group spares{{0}, {{NodeId{0}, "alpha", "", {}}}};
  for (const auto& none : {empty, spares}) {
    CHECK(code_of(request(FaultKind::kKill), none) == Errc::kUnavailable);
    CHECK(code_of(request(FaultKind::kDiskFull), none) == Errc::kUnavailable);
    CHECK(code_of(of_rank(FaultKind::kKill, 0), none) == Errc::kUnavailable);
  }
}

struct Fixture {
  struct Sent {
    NodeId node;
    wire::Inject order;
  };
  robustrun::test::Loop loop;
  Injector::Group now = group();
  std::vector<Sent> sent;
  std::vector<FaultInjected> recorded;
  std::size_t told_before = 0;  // answers when the last one was recorded
  std::vector<base::Result<FaultReport>> answers;
  std::optional<Injector> injector;

  Fixture() {
    injector.emplace(loop.executor(),
                     Injector::Hands{[this] { return now; },
                                     [this](NodeId node, const wire::Message& message) {
                                       sent.push_back({node, std::get<wire::Inject>(message)});
                                     },
                                     [this](const FaultInjected& fault) {
                                       told_before = answers.size();
                                       recorded.push_back(fault);
                                     }});
  }
  void inject(const FaultRequest& asked) {
    injector->inject(
        asked, [this](base::Result<FaultReport> report) { answers.push_back(std::move(report)); });
  }
};

TEST_CASE("an order goes to the victim's agent; its answer is recorded and passed on") {
  Fixture f;
  FaultRequest asked = of_rank(FaultKind::kStop, 3);
  asked.duration = std::chrono::seconds(2);
  f.inject(asked);
  REQUIRE(f.sent.size() == 1);
  CHECK(f.sent[0].node == NodeId{0});
  const wire::Inject& order = f.sent[0].order;
  CHECK(order.attempt == base::Attempt{5});
  CHECK(order.kind == FaultKind::kStop);
  CHECK(order.local_rank == base::LocalRank{1});
  CHECK(order.duration == std::chrono::seconds(2));
  CHECK(f.answers.empty());
  CHECK(f.recorded.empty());
  f.now.attempt = base::Attempt{6};  // it is the order's attempt that counts
  f.injector->on_report(NodeId{0}, {order.id, 4242, "SIGSTOP for 2 s", ""});
  REQUIRE(f.answers.size() == 1);
  REQUIRE(f.answers[0]);
  CHECK(f.answers[0]->rank == Rank{3});
  CHECK(f.answers[0]->node == "alpha");
  CHECK(f.answers[0]->pid == 4242);
  REQUIRE(f.recorded.size() == 1);
  CHECK(f.told_before == 0);
  CHECK(f.recorded[0].kind == "stop");
  CHECK(f.recorded[0].attempt == base::Attempt{5});
  CHECK(f.recorded[0].node == NodeId{0});
  CHECK(f.recorded[0].victim == Rank{3});
  CHECK(f.recorded[0].pid == 4242);
  CHECK(f.recorded[0].done == "SIGSTOP for 2 s");
}

TEST_CASE("an answer counts once, from the agent that was asked alone") {
  Fixture f;
  f.inject(of_rank(FaultKind::kKill, 3));
  const std::uint64_t id = f.sent.at(0).order.id;
  f.injector->on_report(NodeId{2}, {id, 1, "a lie", ""});
  f.injector->on_report(NodeId{0}, {id + 1, 1, "another order", ""});
  CHECK(f.answers.empty());
  f.injector->on_report(NodeId{0}, {id, 1, "SIGKILL", ""});
  f.injector->on_report(NodeId{0}, {id, 1, "SIGKILL", ""});
  CHECK(f.answers.size() == 1);
  CHECK(f.recorded.size() == 1);
}

TEST_CASE("a fault that an agent cannot make is reported, made printable, and not recorded") {
  Fixture f;
  f.inject(of_rank(FaultKind::kKill, 3));
  f.injector->on_report(NodeId{0}, {f.sent.at(0).order.id, 0, "", "no \x1b[2J worker"});
  REQUIRE(f.answers.size() == 1);
  REQUIRE_FALSE(f.answers[0]);
  CHECK(f.answers[0].error().code == Errc::kUnavailable);
  CHECK(f.answers[0].error().what.find('\x1b') == std::string::npos);
  CHECK(f.recorded.empty());
}

TEST_CASE("a target that does not exist is refused at once, and no agent is asked") {
  Fixture f;
  f.inject(of_rank(FaultKind::kKill, 99));
  REQUIRE(f.answers.size() == 1);
  CHECK_FALSE(f.answers[0]);
  CHECK(f.sent.empty());
  CHECK(f.recorded.empty());
}

TEST_CASE("the loss of an agent answers its orders: its death was one, the others failed") {
  Fixture f;
  f.inject(of_node(FaultKind::kAgentDeath, "alpha"));
  f.inject(of_rank(FaultKind::kKill, 2));
  f.inject(of_rank(FaultKind::kKill, 0));  // on beta
  f.injector->on_agent_lost(NodeId{0});
  REQUIRE(f.answers.size() == 2);
  CHECK(f.answers[0]);
  REQUIRE_FALSE(f.answers[1]);
  CHECK(f.answers[1].error().code == Errc::kUnavailable);
  REQUIRE(f.recorded.size() == 1);
  CHECK(f.recorded[0].kind == "agent-death");
  CHECK(f.recorded[0].node == NodeId{0});
  CHECK_FALSE(f.recorded[0].victim);
}

TEST_CASE("so many orders wait at a time, and no more") {
  Fixture f;
  for (std::size_t i = 0; i < kInjectionsMax; ++i) f.inject(of_rank(FaultKind::kKill, 0));
  CHECK(f.answers.empty());
  f.inject(of_rank(FaultKind::kKill, 0));
  REQUIRE(f.answers.size() == 1);
  CHECK(f.answers[0].error().code == Errc::kLimit);
  f.injector->on_report(NodeId{2}, {f.sent.at(0).order.id, 1, "SIGKILL", ""});
  f.inject(of_rank(FaultKind::kKill, 0));
  CHECK(f.sent.size() == kInjectionsMax + 1);
}

TEST_CASE("after its end no request is answered") {
  Fixture f;
  f.inject(of_rank(FaultKind::kKill, 0));
  f.injector.reset();
  f.loop.run_out();
  CHECK(f.answers.empty());
}

TEST_CASE("the supervisor's own death is recorded before it happens") {
  Fixture f;
  f.injector->note_own_death(17);
  REQUIRE(f.recorded.size() == 1);
  CHECK(f.recorded[0].kind == "supervisor-death");
  CHECK_FALSE(f.recorded[0].node);
  CHECK_FALSE(f.recorded[0].victim);
  CHECK(f.recorded[0].pid == 17);
  CHECK(f.recorded[0].attempt == base::Attempt{5});
}

}  // namespace
}  // namespace robustrun::supervisor::injector_test
