// Lost nodes and the spares that take their places.
#include <doctest/doctest.h>

#include <csignal>
#include <ctime>

#include "supervisor/core/job/job.h"
#include "tests/supervisor/job_harness.h"
#include "tests/support/sanitized.h"

namespace robustrun::supervisor::test::job_group_test {
namespace {

using Nodes = std::vector<std::uint32_t>;

// Two nodes and a spare, running.
Harness with_spare() {
  Harness h(group_spec({1, 2, 2}, 2, 2));
  h.run();
  h.join(2);
  return h;
}

TEST_CASE("the first nodes form the group and begin without waiting for spares") {
  Harness h(group_spec({2, 1, 1}, 2, 2));
  CHECK(h.all<LaunchAgent>().size() == 3);
  h.join(0);
  h.join(1);
  REQUIRE(h.all<GroupFormed>().size() == 1);
  const GroupFormed formed = h.all<GroupFormed>().front();
  REQUIRE(formed.members.size() == 2);
  CHECK(formed.members[1].name == "node1");
  CHECK(formed.members[1].address == "10.0.0.1");
  CHECK(formed.members[1].first_rank == 2);
  CHECK(formed.spares.empty());
  h.begin();
  h.join(2);
  CHECK(h.text(Rule::kSpareChanged) == "node2 is a spare");
  CHECK(h.job.state() == JobState::kRunning);
}

TEST_CASE("a full first group of another size than expected does not begin") {
  JobSpec spec = group_spec({0, 0, 0}, 2, 2);
  spec.expect_world = 5;
  Harness h(spec);
  h.tell(AgentJoined{10, {}, 2}, 0);
  SUBCASE("too few") {
    h.tell(AgentJoined{10, {}, 2}, 1);
    CHECK(h.text(Rule::kInfrastructureGivenUp) ==
          "the 2 nodes offer 4 workers, and 5 are expected (--expect-world)");
    CHECK(h.evidence(Rule::kInfrastructureGivenUp) ==
          std::vector<std::string>{"node0: 2 workers", "node1: 2 workers"});
    CHECK(h.exit_code() == 94);
  }
  SUBCASE("as many") {
    h.tell(AgentJoined{10, {}, 3}, 1);
    CHECK(h.job.state() == JobState::kReserving);
  }
}

TEST_CASE(
    "a spare that is there first is announced, and waits a while for those it stands in for") {
  Harness h(group_spec({1, 1, 1}, 2, 2));
  h.join(0);
  h.join(2);
  CHECK(h.job.state() == JobState::kJoining);
  SUBCASE("that come") {
    h.join(1);
    CHECK(h.group == Nodes{0, 1});
    CHECK(h.all<GroupFormed>().front().spares == std::vector<std::string>{"node2"});
  }
  SUBCASE("that do not") {
    const Nanos since = h.now;
    h.fire(TimerId::kState);
    CHECK(h.now - since == seconds(5));
    CHECK(h.group == Nodes{0, 2});
    CHECK(h.job.state() == JobState::kReserving);
  }
}

TEST_CASE("a lost machine is replaced by a spare at once, and every survivor keeps its ranks") {
  Harness h(group_spec({1, 2, 1, 1, 2}, 3, 3));
  h.run();
  h.join(3);
  h.join(4);
  h.lose(1, "no power", false);
  CHECK(h.all<LaunchAgent>().empty());
  CHECK(h.all<StopWorkers>().size() == 2);
  h.gone(0);
  h.gone(2);
  CHECK(h.text(Rule::kNodeReplaced) == "node4 takes the place of node1 (no power)");
  REQUIRE(h.all<GroupFormed>().size() == 1);
  CHECK(h.all<GroupFormed>().front().attempt.value == 1);
  CHECK(h.all<GroupFormed>().front().spares == std::vector<std::string>{"node3"});
  CHECK(h.group == Nodes{0, 4, 2});
  CHECK(h.node_of == Nodes{0, 4, 4, 2});
  h.begin();
  CHECK(h.job.assignment({2})->local_rank.value == 1);
}

TEST_CASE("a spare that failed earlier runs comes last, but it comes") {
  JobSpec spec = group_spec({1, 1, 1, 1}, 2, 2);
  spec.nodes[2].is_offender = true;
  Harness h(spec);
  h.run();
  h.join(2);
  h.join(3);
  h.lose_machine(1);
  CHECK(h.group == Nodes{0, 3});
  h.begin();
  h.first_step();
  h.lose_machine(0);
  CHECK(h.group == Nodes{2, 3});
}

TEST_CASE("the new first node gives MASTER_ADDR and the port") {
  Harness h = with_spare();
  h.lose_machine(0);
  REQUIRE(h.all<ReservePort>().size() == 1);
  CHECK(h.all<ReservePort>().front().node.value == 2);
  h.reserve();
  CHECK(h.all<StartWorkers>().front().master_addr == "10.0.0.2");
  CHECK(h.all<StartWorkers>().back().master_addr == "10.0.0.2");
}

TEST_CASE("several nodes that are replaced at once are told apart in the evidence") {
  Harness h(group_spec({1, 1, 1, 1, 1}, 3, 3));
  h.run();
  h.join(3);
  h.join(4);
  h.lose(0, "no power", false);
  h.lose(2, "melted", false);
  h.gone(1);
  CHECK(h.group == Nodes{3, 1, 4});
  CHECK(h.text(Rule::kNodeReplaced) ==
        "2 nodes are replaced: node3 takes the place of node0 (no power), …");
  CHECK(h.evidence(Rule::kNodeReplaced) ==
        std::vector<std::string>{"node3 takes the place of node0 (no power)",
                                 "node4 takes the place of node2 (melted)"});
}

TEST_CASE("an agent that died on an answering node gets its place back while a spare waits") {
  Harness h = with_spare();
  h.lose(1);
  REQUIRE(h.all<LaunchAgent>().size() == 1);
  CHECK(h.all<LaunchAgent>().front().node.value == 1);
  h.gone(0);
  CHECK(h.job.state() == JobState::kJoining);
  SUBCASE("if it is quick") {
    h.now += seconds(4);
    h.join(1);
    CHECK(h.all<GroupFormed>().empty());
    h.begin();
    CHECK(h.group == Nodes{0, 1});
  }
  SUBCASE("and not for longer than the spare's patience") {
    const Nanos since = h.now;
    h.fire(TimerId::kState);
    CHECK(h.now - since == seconds(5));
    CHECK(h.text(Rule::kNodeReplaced) == "node2 takes the place of node1 (killed)");
    h.begin();
    CHECK(h.group == Nodes{0, 2});
    h.join(1);
    CHECK(h.text(Rule::kSpareChanged) == "node1 is a spare");
    CHECK(h.job.state() == JobState::kRunning);
  }
  SUBCASE("nor when it cannot be started") {
    h.lose(1, "disk full");
    CHECK(h.text(Rule::kAgentLost) ==
          "the agent of node1 cannot be started: disk full; launching it again in 20 s");
    CHECK(h.group == Nodes{0, 2});
    CHECK(h.job.state() == JobState::kReserving);
  }
}

TEST_CASE("the second time a node's agent dies the spare does not wait") {
  Harness h = with_spare();
  h.lose(1);
  h.join(1);
  h.gone(0);
  h.begin();
  h.first_step();
  h.lose(1);
  CHECK(h.all<LaunchAgent>().empty());
  h.gone(0);
  CHECK(h.decided(Rule::kNodeReplaced));
  CHECK(h.job.state() == JobState::kReserving);
  h.begin();
  const Nanos since = h.now;
  h.fire(TimerId::kNodes);
  CHECK(h.now - since == seconds(20));
  REQUIRE(h.all<LaunchAgent>().size() == 1);
  CHECK(h.all<LaunchAgent>().front().node.value == 1);
}

TEST_CASE("without a spare a node's agent is started again at once however often it died") {
  Harness h(make_spec({1, 1}));
  h.run();
  for (int i = 0; i < 5; ++i) {
    h.lose(1);
    CHECK(h.all<LaunchAgent>().size() == 1);
    h.join(1);
    h.recover_without(1);
    h.first_step();
  }
}

TEST_CASE(
    "an agent that does not stop its workers is replaced by a spare, and killed all the same") {
  Harness h = with_spare();
  h.lose(1);
  h.join(1);
  h.gone(0);
  h.begin();
  h.first_step();
  h.tell_exit(exited(1, 0, 1));
  h.gone(0);
  h.fire(TimerId::kState);
  CHECK(h.all<LaunchAgent>().size() == 1);
  CHECK(h.group == Nodes{0, 2});
}

TEST_CASE("what a replaced node still says is ignored") {
  Harness h = with_spare();
  h.lose_machine(1);
  const std::uint64_t before = h.job.digest();
  const auto old = [&](EventBody body) {
    CHECK(h.job.handle(Event{h.now, {1}, {1}, std::move(body)}).empty());
    CHECK(h.job.digest() == before);
  };
  old(WorkersGone{{0}, 0, {}, {}});
  old(exited(0, 1, 1));
  old(exited(1, 1, 1));
  old(AgentJoined{10, {}, 0});
  old(AgentLost{"late", true});
}

TEST_CASE("a lost spare disturbs no other node and is launched again after growing waits") {
  Harness h = with_spare();
  h.lose(2);
  CHECK(h.text(Rule::kSpareChanged) == "the agent of node2 was lost: killed; launching it again");
  CHECK(h.all<LaunchAgent>().size() == 1);
  h.join(2);
  const seconds delays[] = {seconds(20),  seconds(40),  seconds(80),
                            seconds(160), seconds(300), seconds(300)};
  for (const seconds delay : delays) {
    h.lose(2);
    CHECK(h.all<LaunchAgent>().empty());
    CHECK(h.all<StopWorkers>().empty());
    const Nanos since = h.now;
    h.fire(TimerId::kNodes);
    CHECK(h.now - since == delay);
    CHECK(h.all<LaunchAgent>().size() == 1);
    if (delay < seconds(80)) h.join(2);
  }
  CHECK(h.job.state() == JobState::kRunning);
  CHECK(h.job.attempt().value == 0);
}

TEST_CASE("a spare that never says hello is a spare's trouble, not the run's") {
  Harness h(group_spec({1, 1, 1}, 2, 2));
  h.join(0);
  h.join(1);
  h.begin();
  h.fire(TimerId::kNodes);
  CHECK(
      h.text(Rule::kSpareChanged) ==
      "the agent of node2 cannot be started: it did not say hello within 30 s; launching it again");
  CHECK_FALSE(h.decided(Rule::kAgentLost));
  CHECK(h.all<LaunchAgent>().size() == 1);
}

TEST_CASE("a spare lost while the group stops is not the group's fault") {
  Harness h = with_spare();
  h.tell_exit(exited(0, 0, 1));
  h.lose(2);
  CHECK(h.decided(Rule::kSpareChanged));
  h.all_gone();
  CHECK(h.text(Rule::kRestart).starts_with("restart 1 of 3"));
  CHECK(h.evidence(Rule::kRestart).size() == 1);
}

TEST_CASE("a group that stays as it is announces nothing") {
  Harness h = with_spare();
  h.tell_exit(killed(0, 0, SIGKILL));
  h.all_gone();
  CHECK(h.all<GroupFormed>().empty());
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("at the end every agent may go, spares too") {
  Harness h = with_spare();
  h.tell(SignalReceived{SIGTERM, false});
  CHECK(h.all<StopWorkers>().size() == 2);
  h.all_gone();
  CHECK(h.all<DismissAgent>().size() == 3);
  CHECK(h.exit_code() == 143);
}

TEST_CASE("1,024 nodes and as many spares: a start and a replacement take little time") {
  Harness h(group_spec(std::vector<std::uint32_t>(2048, 1), 1024, 1024));
  const std::clock_t before = std::clock();  // of the processor: the machine may have more to do
  for (std::uint32_t node = 2048; node-- > 1;) h.join(node);
  h.join(0);
  h.begin();
  h.lose_machine(512);
  h.begin();
  CHECK(h.group[512] == 1024);
  CHECK(std::clock() - before < (robustrun::test::kSanitized ? 20 : 2) * CLOCKS_PER_SEC);  // 0.1 s
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_group_test
