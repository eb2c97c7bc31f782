// Agents that are lost, cannot be started, or do not answer.
#include <doctest/doctest.h>
#include <fmt/core.h>

#include "supervisor/core/job/job.h"
#include "tests/supervisor/job_harness.h"

namespace robustrun::supervisor::test::job_agents_test {
namespace {

TEST_CASE("a lost agent is launched again in place while the others stop") {
  JobSpec spec = make_spec({1, 1});
  spec.restart.max_restarts = 0;
  Harness h(spec);
  h.run();
  h.tell(AgentLost{"killed by SIGKILL", true}, 1);
  CHECK(h.decided(Rule::kAgentLost));
  REQUIRE(h.all<StopWorkers>().size() == 1);
  CHECK(h.all<StopWorkers>().front().node.value == 0);
  REQUIRE(h.all<LaunchAgent>().size() == 1);
  CHECK(h.all<LaunchAgent>().front().generation.value == 2);
  SUBCASE("and joins before they are gone") {
    h.tell(AgentJoined{11, {}, 0}, 1);
    h.tell(WorkersGone{{0}, 0, {}, {}}, 0);
    CHECK(h.job.state() == JobState::kReserving);
  }
  SUBCASE("and joins after they are gone") {
    h.tell(WorkersGone{{0}, 0, {}, {}}, 0);
    CHECK(h.job.state() == JobState::kJoining);
    h.tell(AgentJoined{11, {}, 0}, 1);
    CHECK(h.job.state() == JobState::kReserving);
  }
  SUBCASE("and what its former self still says is ignored") {
    h.tell(Event{h.now, {1}, {1}, WorkersGone{{0}, 0, {}, {}}});
    h.tell(Event{h.now, {1}, {1}, AgentJoined{9, {}, 0}});
    CHECK(h.actions.empty());
    CHECK(h.job.state() == JobState::kStopping);
  }
}

TEST_CASE("that a node is taken away is reported once, and once more for its next agent") {
  Harness h(make_spec({1, 1}));
  h.run();
  h.tell(NodeEnding{"Slurm sent SIGTERM"}, 1);
  CHECK(h.text(Rule::kNodeEnding) == "node1 will be taken away: Slurm sent SIGTERM");
  h.tell(NodeEnding{"Slurm sent SIGTERM"}, 1);
  CHECK(h.actions.empty());
  h.tell(AgentLost{"killed by SIGKILL", true}, 1);
  h.tell(Event{h.now, {1}, {1}, NodeEnding{"of the past"}});
  CHECK(h.actions.empty());
  h.tell(NodeEnding{"again"}, 1);
  CHECK(h.decided(Rule::kNodeEnding));
}

TEST_CASE("an agent whose workers had all ended well is only missed at the next restart") {
  Harness h(make_spec({1, 1}));
  h.run();
  h.tell_exit(exited(0, 1, 0));
  h.tell(AgentLost{"gone", true}, 1);
  CHECK(h.actions.empty());
  SUBCASE("which may never come") {
    h.tell_exit(exited(0, 0, 0));
    h.tell(WorkersGone{{0}, 0, {}, {}}, 0);
    CHECK(h.exit_code() == 0);
  }
  SUBCASE("which launches it") {
    h.tell_exit(exited(0, 0, 1));
    REQUIRE(h.all<LaunchAgent>().size() == 1);
    CHECK(h.all<LaunchAgent>().front().node.value == 1);
  }
}

TEST_CASE("an agent that cannot be started twice in a row ends the run with 94") {
  Harness h(make_spec({1, 1}));
  h.join(0);
  SUBCASE("it dies") {
    h.lose(1, "no such host");
    CHECK(h.text(Rule::kAgentLost) ==
          "the agent of node1 cannot be started: no such host; launching it again");
    CHECK(h.all<LaunchAgent>().size() == 1);
    h.lose(1, "no such host");
    CHECK(h.text(Rule::kInfrastructureGivenUp) ==
          "only 1 of the 2 nodes needed: node1: no such host");
  }
  SUBCASE("it never says hello") {
    const Nanos start = h.now;
    h.fire(TimerId::kNodes);
    CHECK(h.now - start == seconds(30));
    CHECK(h.text(Rule::kAgentLost) ==
          "the agent of node1 cannot be started: it did not say hello within 30 s; launching it "
          "again");
    CHECK(h.all<LaunchAgent>().size() == 1);
    h.fire(TimerId::kNodes);
    CHECK(h.now - start == seconds(60));
  }
  SUBCASE("again, in the middle of a run") {
    h.join(1);
    h.begin();
    h.lose(1);
    h.lose(1, "cannot fork");
    CHECK(h.all<LaunchAgent>().size() == 1);
    h.lose(1, "cannot fork");
    CHECK(h.all<LaunchAgent>().empty());
    CHECK(h.job.state() == JobState::kStopping);
    h.gone(0);
  }
  CHECK(h.all<Decision>().back().evidence.size() == 1);
  CHECK(h.exit_code() == 94);
}

TEST_CASE("the only agent that cannot be started ends the run with 94, and says why") {
  for (const bool answers : {true, false}) {
    Harness h;
    h.lose(0, "no shim", answers);
    if (answers) {
      CHECK(h.all<LaunchAgent>().size() == 1);
      h.lose(0, "no shim");
    }
    CHECK(h.text(Rule::kInfrastructureGivenUp) == "the agent of node0 cannot be started: no shim");
    CHECK(h.exit_code() == 94);
  }
}

TEST_CASE("what lasts is not tried again at once, and reported once for all its nodes") {
  const auto unknown = [](char key) {
    return AgentLost{
        fmt::format("its host key is unknown: {}", key), true, {}, "its host key is unknown"};
  };
  SUBCASE("by the end of the run") {
    Harness h(make_spec({1, 1}));
    h.tell(unknown('A'), 0);
    CHECK_FALSE(h.decided(Rule::kAgentLost));
    CHECK(h.all<LaunchAgent>().empty());
    h.tell(unknown('B'), 1);
    CHECK(h.all<Decision>().size() == 1);
    CHECK(h.text(Rule::kInfrastructureGivenUp) ==
          "only 0 of the 2 nodes needed: node[0-1]: node0: its host key is unknown: A; alike for "
          "the others");
    CHECK(h.exit_code() == 94);
  }
  SUBCASE("when enough others are there") {
    JobSpec spec = make_spec({1, 1, 1, 1});
    spec.group.min_nodes = 2;
    Harness h(spec);
    for (const std::uint32_t node : {1U, 3U}) h.tell(AgentLost{"no key", true, {}, "no key"}, node);
    h.join(0);
    CHECK_FALSE(h.decided(Rule::kAgentLost));
    h.join(2);
    CHECK(h.text(Rule::kAgentLost) ==
          "the agents of node1,node3 cannot be started: no key; launching them again in 10 s");
    CHECK(h.job.state() == JobState::kReserving);
  }
  SUBCASE("in the middle of a run alone") {
    Harness h(make_spec({1, 1}));
    h.run();
    h.lose(1);
    h.tell(unknown('A'), 1);
    CHECK(h.all<LaunchAgent>().empty());
  }
}

TEST_CASE("an option that no node can use is bad input; if one can, it is a node's fault") {
  const AgentLost refused{
      "cannot use --nproc-per-node=gpu", true, {}, "cannot use --nproc-per-node=gpu", true};
  for (const bool one_joins : {false, true}) {
    Harness h(make_spec({1, 1}));
    h.tell(refused, 0);
    CHECK(h.all<LaunchAgent>().empty());
    if (one_joins) {
      h.join(1);
    } else {
      h.tell(refused, 1);
    }
    CHECK(h.text(Rule::kInfrastructureGivenUp) ==
          (one_joins ? "only 1 of the 2 nodes needed: node0: cannot use --nproc-per-node=gpu"
                     : "only 0 of the 2 nodes needed: node[0-1]: cannot use "
                       "--nproc-per-node=gpu"));
    CHECK(h.exit_code() == (one_joins ? 94 : 2));
  }
}

TEST_CASE("a node that is gone for good is not launched again") {
  JobSpec spec = make_spec({1, 1, 1});
  spec.group.min_nodes = 2;
  Harness h(spec);
  h.run();
  AgentLost gone{"Slurm has taken it out of job 7", false};
  gone.gone = true;
  h.tell(gone, 2);
  CHECK(h.all<LaunchAgent>().empty());
  h.recover_without(2);
  h.now += seconds(1000);
  h.fire(TimerId::kNodes);
  CHECK(h.all<LaunchAgent>().empty());
}

TEST_CASE("agents lost before anything was started cost nothing, until one is lost in a loop") {
  JobSpec spec = make_spec(std::vector<std::uint32_t>(20, 1));
  spec.restart.max_infrastructure_restarts = 1;
  Harness h(spec);
  for (std::uint32_t node = 1; node < 20; ++node) {
    h.join(node);
    h.lose(node);
    CHECK(h.text(Rule::kAgentLost).ends_with("; launching it again"));
    h.join(node);
  }
  CHECK(h.job.state() == JobState::kJoining);
  SUBCASE("a node that comes back takes part") {
    h.join(0);
    h.begin();
  }
  SUBCASE("a loop is a setback every time") {
    h.lose(7);
    CHECK(h.text(Rule::kAgentLost).ends_with("; trying to start again"));
    h.join(7);
    h.lose(7);
    CHECK(h.exit_code() == 94);
  }
}

TEST_CASE("an agent lost while nothing runs is a setback of its own") {
  Harness h(make_spec({1, 1}));
  h.join_all();
  REQUIRE(h.job.state() == JobState::kReserving);
  h.tell(AgentLost{"killed", true}, 0);
  CHECK(h.job.state() == JobState::kJoining);
  h.tell(AgentJoined{10, {}, 0}, 0);
  CHECK(h.job.state() == JobState::kReserving);
  h.tell(AgentLost{"killed", true}, 1);
  CHECK(h.job.state() == JobState::kBackoff);
  h.fire(TimerId::kBackoff);
  CHECK(h.job.state() == JobState::kJoining);
  h.tell(AgentJoined{10, {}, 0}, 1);
  h.reserve();
  h.start_all();
  CHECK(h.job.state() == JobState::kRunning);
  CHECK(h.job.attempt().value == 0);
}

TEST_CASE("agents lost during a back-off neither lengthen it nor cost a restart") {
  JobSpec spec = make_spec(std::vector<std::uint32_t>(20, 1));
  spec.restart.max_infrastructure_restarts = 3;
  Harness h(spec);
  h.join_all();
  h.lose(0);
  h.join(0);
  h.lose(0);  // one that is lost again and again
  REQUIRE(h.job.state() == JobState::kBackoff);
  const Nanos over_at = h.timers[static_cast<std::size_t>(TimerId::kBackoff)].at;
  for (std::uint32_t node = 1; node < 20; ++node) {
    h.lose(node);
    CHECK(h.job.state() == JobState::kBackoff);
    CHECK(h.all<LaunchAgent>().size() == 1);
    CHECK(h.text(Rule::kAgentLost).ends_with("; launching it again"));
    h.join(node);
  }
  h.lose(7);
  CHECK(h.all<LaunchAgent>().empty());
  CHECK(h.text(Rule::kAgentLost).find("; launching it again in ") != std::string::npos);
  h.fire(TimerId::kBackoff);
  CHECK(h.now == over_at);
  CHECK(h.job.state() == JobState::kJoining);
  REQUIRE(h.all<LaunchAgent>().size() == 1);
  CHECK(h.all<LaunchAgent>().front().node.value == 7);
  h.join(0);
  h.join(7);
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("an agent that does not stop its workers in time is replaced") {
  const JobSpec spec = make_spec({1, 1});
  Harness h(spec);
  h.run();
  h.tell_exit(exited(0, 0, 1));
  h.tell(WorkersGone{{0}, 0, {}, {}}, 0);
  const Nanos stopped_at = h.now;
  h.fire(TimerId::kState);
  CHECK(h.now - stopped_at == spec.deadlines.shutdown_grace + spec.deadlines.kill_margin);
  REQUIRE(h.all<LaunchAgent>().size() == 1);
  CHECK(h.all<LaunchAgent>().front().node.value == 1);
  CHECK(h.decided(Rule::kRestart));
  h.tell(AgentJoined{12, {}, 0}, 1);
  CHECK(h.job.state() == JobState::kReserving);
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_agents_test
