// Nodes that the scheduler drains, reboots or maintains.
#include <doctest/doctest.h>

#include <csignal>

#include "tests/supervisor/job_harness.h"
#include "tests/supervisor/policy_words.h"

namespace robustrun::supervisor::test::job_drain_test {
namespace {

using Nodes = std::vector<std::uint32_t>;

NodeHealth plans(std::string line, bool over = false) {
  return {NodeHealth::Source::kScheduler, "Slurm", std::move(line), 0, over};
}

// Nodes with a worker each; two of them work.
JobSpec spec_of(std::vector<std::uint32_t> slots, DrainAnswer answer = DrainAnswer::kAtRestart) {
  JobSpec spec = policy_spec(std::move(slots), 2, 2);
  spec.policy.drain = answer;
  return spec;
}

TEST_CASE("a drained node is named once, and a spare takes its place at the next restart") {
  Harness h(spec_of({1, 1, 1}));
  h.run();
  h.tell(plans("it is draining (bad disk)"), 1);
  CHECK(h.text(Rule::kNodeHealth) ==
        "node1: Slurm: it is draining (bad disk); a spare takes its place at the next restart");
  CHECK(h.job.state() == JobState::kRunning);
  CHECK(h.job.drained({1}) == "it is draining (bad disk)");
  h.tell(plans("it is draining (bad disk)"), 1);
  CHECK(h.actions.empty());
  h.first_step();
  h.tell_exit(exited(h.job.attempt().value, 0, 1));
  h.all_gone();
  CHECK(h.text(Rule::kNodeDrained) == "node1 is taken out of the run: it is draining (bad disk)");
  h.fire(TimerId::kBackoff);
  CHECK(h.group == Nodes{0, 2});
}

TEST_CASE("by the policy a drained node is left at once, after the workers could save") {
  Harness h(spec_of({1, 1, 1}, DrainAnswer::kNow));
  h.run();
  h.tell(plans("it is to be rebooted"), 0);
  CHECK(h.text(Rule::kNodeLeft) ==
        "node0 is given back to the scheduler; stopping all workers, which have 30 s to save");
  REQUIRE(h.all<StopWorkers>().size() == 2);
  CHECK(h.all<StopWorkers>()[0].reason == StopReason::kPreempt);
  CHECK(h.all<StopWorkers>()[0].save_first);
  h.all_gone();
  CHECK(h.text(Rule::kRestart) ==
        "free restart (nothing failed): starting 2 workers on 2 nodes again");
  CHECK(h.job.restarts_used() == 0);
  h.begin();
  CHECK(h.group == Nodes{2, 1});
}

TEST_CASE("workers that save for a handover go on with it when the run ends meanwhile") {
  JobSpec spec = spec_of({1, 1, 1}, DrainAnswer::kNow);
  spec.time_limit = seconds(3600);
  Harness h(spec);
  h.run();
  h.tell(plans("it is to be rebooted"), 0);
  REQUIRE(h.job.state() == JobState::kStopping);
  SUBCASE("at its time limit") {
    const auto timer = static_cast<std::size_t>(TimerId::kTimeLimit);
    h.tell(TimerFired{TimerId::kTimeLimit, h.timers[timer].sequence});
  }
  SUBCASE("by a signal") { h.tell(SignalReceived{SIGINT, false}); }
  CHECK(h.job.state() == JobState::kFinishing);
  REQUIRE(h.all<StopWorkers>().size() == 2);
  for (const StopWorkers& stop : h.all<StopWorkers>()) CHECK(stop.save_first);
  h.tell(SignalReceived{SIGINT, false});  // the user is in a hurry
  REQUIRE(!h.all<StopWorkers>().empty());
  CHECK_FALSE(h.all<StopWorkers>()[0].save_first);
}

TEST_CASE("without a spare a drained node stays, however often the workers are restarted") {
  for (const DrainAnswer answer : {DrainAnswer::kAtRestart, DrainAnswer::kNow}) {
    Harness h(spec_of({1, 1}, answer));
    h.run();
    h.tell(plans("it is draining"), 1);
    CHECK(h.text(Rule::kNodeHealth) == "node1: Slurm: it is draining; no spare can take its place");
    CHECK(h.job.state() == JobState::kRunning);
    h.first_step();
    h.tell_exit(exited(h.job.attempt().value, 0, 1));
    h.recover();
    CHECK(h.group == Nodes{0, 1});
  }
}

TEST_CASE("spares that drain as well take no place, and are the last to be taken") {
  Harness h(spec_of({1, 1, 1, 1}));
  h.run();
  h.tell(plans("it is draining"), 2);
  CHECK(h.text(Rule::kNodeHealth) == "node2: Slurm: it is draining; other nodes are taken first");
  for (const std::uint32_t node : {0U, 1U}) h.tell(plans("it is draining"), node);
  h.first_step();
  h.tell_exit(exited(h.job.attempt().value, 0, 1));
  h.recover();
  // One spare for two: the other node stays, as node2 is no better.
  CHECK(h.group == Nodes{3, 1});
}

TEST_CASE("the policy may only report, and without a policy nothing else is done") {
  JobSpec off = group_spec({1, 1, 1}, 2, 2);
  for (const JobSpec& spec : {spec_of({1, 1, 1}, DrainAnswer::kSay), off}) {
    Harness h(spec);
    h.run();
    h.tell(plans("it is draining"), 1);
    CHECK(h.text(Rule::kNodeHealth) == "node1: Slurm: it is draining");
    h.first_step();
    h.tell_exit(exited(h.job.attempt().value, 0, 1));
    h.recover();
    CHECK(h.group == Nodes{0, 1});
  }
}

TEST_CASE("a node that Slurm uses again is a spare, and a plan that was dropped has no effect") {
  Harness h(spec_of({1, 1, 1}));
  h.run();
  h.tell(plans("it is draining"), 1);
  h.first_step();
  h.tell_exit(exited(h.job.attempt().value, 0, 1));
  h.recover();
  REQUIRE(h.group == Nodes{0, 2});
  h.tell(plans("it is draining", true), 1);
  CHECK(h.text(Rule::kNodeReturned) == "node1 is a spare again: Slurm uses it again");
  h.tell(plans("it is to be rebooted"), 0);
  h.tell(plans("it is to be rebooted", true), 0);
  CHECK(h.text(Rule::kNodeHealth) == "node0: Slurm: it is to be rebooted (no longer)");
  h.tell(plans("it is to be rebooted", true), 0);
  CHECK(h.actions.empty());
  h.first_step();
  h.tell_exit(exited(h.job.attempt().value, 0, 1));
  h.recover();
  CHECK(h.group == Nodes{0, 2});
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_drain_test
