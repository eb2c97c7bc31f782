// Groups that shrink, grow again, and wait for capacity.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <csignal>

#include "supervisor/core/job/job.h"
#include "supervisor/core/types/limits.h"
#include "tests/supervisor/job_harness.h"

namespace robustrun::supervisor::test::job_group_size_test {
namespace {

using Nodes = std::vector<std::uint32_t>;

TEST_CASE("without a spare the group shrinks if it may, and ranks are compact") {
  Harness h(group_spec({1, 2, 1}, 2, 3));
  h.run();
  h.lose_machine(1);
  CHECK(h.text(Rule::kGroupShrunk) == "there is no spare: going on with 2 of 3 nodes");
  CHECK(h.evidence(Rule::kGroupShrunk) == std::vector<std::string>{"node1: no power"});
  CHECK(h.node_of == Nodes{0, 2});
  h.reserve();
  REQUIRE(h.all<StartWorkers>().size() == 2);
  CHECK(h.all<StartWorkers>().back().world_size == 2);
  CHECK(h.all<StartWorkers>().back().group_rank == 1);
}

TEST_CASE("the group does not shrink while a node may still come back") {
  Harness h(group_spec({1, 1, 1}, 2, 3));
  h.run();
  h.lose(1);
  h.all_gone_but(1);
  CHECK(h.job.state() == JobState::kJoining);
  SUBCASE("which it does") {
    h.join(1);
    CHECK(h.all<GroupFormed>().empty());
    CHECK(h.job.state() == JobState::kReserving);
  }
  SUBCASE("which fails") {
    h.lose(1, "cannot fork");
    CHECK(h.decided(Rule::kGroupShrunk));
  }
  SUBCASE("which takes too long") {
    h.fire(TimerId::kNodes);
    CHECK(h.decided(Rule::kAgentLost));
    CHECK(h.decided(Rule::kGroupShrunk));
    CHECK(h.group == Nodes{0, 2});
  }
}

TEST_CASE("a node that died twice is not waited for by a group that can do without") {
  Harness h(group_spec({1, 1, 1}, 2, 3));
  h.run();
  h.lose(1);
  h.join(1);
  h.recover_without(1);
  h.first_step();
  h.lose(1);
  CHECK(h.all<LaunchAgent>().empty());
  h.all_gone_but(1);
  CHECK(h.decided(Rule::kGroupShrunk));
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("a group that shrank grows again as soon as a node is there") {
  Harness h(group_spec({1, 1, 1}, 2, 3));
  h.run();
  h.lose_machine(0);
  CHECK(h.text(Rule::kRestart).ends_with(": starting the workers on 2 nodes again"));
  h.begin();
  CHECK(h.group == Nodes{1, 2});
  const Nanos lost_at = h.now;
  h.fire(TimerId::kNodes);
  CHECK(h.now - lost_at == seconds(10));
  REQUIRE(h.all<LaunchAgent>().size() == 1);
  h.join(0);
  CHECK(h.text(Rule::kGroupGrew) ==
        "node0 is there: the group grows from 2 to 3 nodes; stopping both ranks");
  CHECK(h.all<StopWorkers>().front().reason == StopReason::kRestart);
  h.all_gone();
  CHECK(h.text(Rule::kRestart).ends_with(": starting the workers on 3 nodes again"));
  CHECK(h.group == Nodes{1, 2, 0});
  h.begin();
  CHECK(h.job.attempt().value == 2);
}

TEST_CASE("a group never grows when that would cost more than it gives") {
  JobSpec spec = group_spec({1, 1, 1}, 2, 3);
  SUBCASE("because a rank has ended already") {
    Harness h(spec);
    h.run();
    h.lose_machine(0);
    h.begin();
    h.first_step();
    h.tell_exit(exited(1, 0, 0));
    h.fire(TimerId::kNodes);
    h.join(0);
    CHECK(h.job.state() == JobState::kRunning);
  }
  SUBCASE("because no restart is allowed") {
    spec.restart.max_infrastructure_restarts = 0;
    Harness h(spec);
    h.join(0);
    h.join(1);
    h.lose(2, "no route", false);
    h.begin();
    h.fire(TimerId::kNodes);
    h.join(2);
    h.first_step();
    CHECK(h.job.state() == JobState::kRunning);
  }
}

TEST_CASE("a node that is there late joins a young group at once") {
  Harness h(group_spec({1, 1}, 1, 2));
  h.join(0);
  h.lose(1, "booting", false);
  h.begin();
  h.fire(TimerId::kNodes);
  h.join(1);
  CHECK(h.decided(Rule::kGroupGrew));
  h.all_gone();
  CHECK(h.group == Nodes{0, 1});
}

TEST_CASE("a node that goes down again and again is no reason to grow, but takes part") {
  Harness h(group_spec({1, 1}, 1, 2));
  h.run();
  std::uint32_t grown = 0;
  for (std::uint32_t i = 0; i < 10; ++i) {
    h.lose_machine(1);
    REQUIRE(h.group == Nodes{0});
    h.begin();
    h.fire(TimerId::kNodes);
    h.join(1);
    h.first_step();
    if (h.job.state() == JobState::kRunning) break;
    ++grown;
    h.all_gone();
    h.begin();
    h.first_step();
  }
  CHECK(grown == kLossesToGrowWithMax);
  h.tell_exit(exited(h.job.attempt().value, 0, 1));
  h.all_gone();
  CHECK(h.group == Nodes{0, 1});
}

TEST_CASE("too few nodes: the run waits for capacity, and says so once") {
  JobSpec spec = make_spec({1, 1});
  spec.group.wait_for_nodes = seconds(60);
  Harness h(spec);
  h.run();
  h.lose_machine(1);
  const Nanos since = h.now;
  CHECK(h.text(Rule::kRestart).ends_with("on 2 nodes again when a node is there"));
  CHECK(h.text(Rule::kWaitForNodes) ==
        "only 1 of the 2 nodes needed: node1: no power; waiting for more, at most "
        "60 s");
  CHECK(h.job.state() == JobState::kJoining);
  h.fire(TimerId::kNodes);
  CHECK(h.now - since == seconds(10));
  REQUIRE(h.all<LaunchAgent>().size() == 1);
  SUBCASE("it comes back") {
    h.join(1);
    h.begin();
    CHECK(h.group == Nodes{0, 1});
  }
  SUBCASE("it does not") {
    h.lose(1, "still no power", false);
    CHECK_FALSE(h.decided(Rule::kWaitForNodes));
    while (h.job.state() == JobState::kJoining) h.fire(TimerId::kState);
    CHECK(h.now - since == seconds(60));
    CHECK(h.text(Rule::kInfrastructureGivenUp) ==
          "only 1 of the 2 nodes needed: node1: still no power");
    CHECK(h.exit_code() == 94);
  }
  SUBCASE("the user ends it") {
    h.tell(SignalReceived{SIGINT, false});
    CHECK(h.exit_code() == 130);
  }
}

TEST_CASE("a check of nodes that all fail names their number, and no later try") {
  JobSpec spec = make_spec({1, 1, 1});
  spec.check_only = true;
  spec.group.min_nodes = 1;
  Harness h(spec);
  for (std::uint32_t node = 0; node < 3; ++node) {
    h.lose(node, "no route to host", false);
    CHECK(h.text(Rule::kAgentLost) ==
          fmt::format("the agent of node{} cannot be started: no route to host", node));
  }
  CHECK(h.text(Rule::kInfrastructureGivenUp) ==
        "none of the 3 nodes can be checked: node[0-2]: no route to host");
}

TEST_CASE("the end for want of nodes names the cause of every missing one") {
  Harness h(make_spec({1, 1, 1, 1}));
  h.join(0);
  h.lose(1, "no route to host", false);
  // Without node1 the run ends before that agent is due again.
  CHECK(h.text(Rule::kAgentLost) == "the agent of node1 cannot be started: no route to host");
  h.lose(3, "permission denied");
  h.lose(3, "permission denied");
  CHECK(h.job.state() == JobState::kJoining);
  h.join(2);
  CHECK(h.text(Rule::kInfrastructureGivenUp) ==
        "only 2 of the 4 nodes needed: node1: no route to host");
  CHECK(h.evidence(Rule::kInfrastructureGivenUp) ==
        std::vector<std::string>{"node1: no route to host", "node3: permission denied"});
  CHECK(h.exit_code() == 94);
}

TEST_CASE("hosts that fail at the start are left out when enough others are there") {
  Harness h(group_spec({1, 1, 1, 1}, 3, 4));
  h.join(0);
  h.lose(1, "no route to host", false);
  h.join(2);
  CHECK(h.job.state() == JobState::kJoining);
  h.join(3);
  CHECK(h.group == Nodes{0, 2, 3});
  h.begin();
}

TEST_CASE("a replay restores the group and goes on the same way") {
  Harness h(group_spec({1, 2, 2, 1}, 2, 3));
  h.join(0);
  h.join(1);
  h.lose(2, "no route", false);
  h.join(3);
  h.begin();
  h.lose_machine(1);
  h.begin();
  Job replayed;
  for (const Event& event : h.journal) replayed.handle(event);
  CHECK(replayed.digest() == h.job.digest());
  const Event next{h.now, {3}, {1}, AgentLost{"killed", false}};
  CHECK(replayed.handle(next).size() == h.job.handle(next).size());
  CHECK(replayed.digest() == h.job.digest());
  CHECK(h.group == Nodes{0, 3});
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_group_size_test
