// From the start to a good end, and what a first failure does.
#include "supervisor/core/job/job.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>
#include <ctime>

#include "tests/supervisor/job_harness.h"
#include "tests/support/sanitized.h"

namespace robustrun::supervisor::test::job_test {
namespace {

TEST_CASE("a run launches agents, reserves a port, starts workers and ends with 0") {
  Harness h(make_spec({2, 1}));
  CHECK(h.all<LaunchAgent>().size() == 2);
  CHECK(h.job.state() == JobState::kJoining);
  h.tell(AgentJoined{10, {}, 0}, 1);
  CHECK(h.all<ReservePort>().empty());
  h.tell(AgentJoined{10, {}, 0}, 0);
  REQUIRE(h.all<ReservePort>().size() == 1);
  CHECK(h.all<ReservePort>().front().node.value == 0);
  h.tell(PortReserved{{0}, 29511, {}});
  CHECK(h.decided(Rule::kStart));
  const auto starts = h.all<StartWorkers>();
  REQUIRE(starts.size() == 2);
  CHECK(starts[0].workers.size() == 2);
  CHECK(starts[1].workers[0].rank.value == 2);
  CHECK(starts[1].master_addr == "10.0.0.0");
  CHECK(starts[1].master_port == 29511);
  h.start_all();
  CHECK(h.job.state() == JobState::kRunning);
  h.tell_exit(exited(0, 1, 0));
  h.tell_exit(exited(0, 0, 0));
  CHECK(h.actions.empty());
  h.tell_exit(exited(0, 2, 0));
  CHECK(h.decided(Rule::kSucceeded));
  CHECK(h.all<StopWorkers>().size() == 2);
  CHECK(h.job.state() == JobState::kFinishing);
  h.tell(WorkersGone{{0}, 3, {}, {}}, 0);
  CHECK(h.all<Finish>().empty());
  h.tell(WorkersGone{{0}, 0, {}, {}}, 1);
  CHECK(h.all<DismissAgent>().size() == 2);
  CHECK(h.exit_code() == 0);
  CHECK(h.job.assignment({2})->local_rank.value == 0);
  CHECK(h.job.assignment({3}) == nullptr);
}

TEST_CASE("agents that say by themselves that their workers are gone are not told to stop") {
  Harness h(make_spec({1, 1}));
  h.run();
  h.tell_exit(exited(0, 0, 0));
  h.tell(WorkersGone{{0}, 0, {}, {}}, 0);
  CHECK(h.actions.empty());
  h.tell_exit(exited(0, 1, 0));
  REQUIRE(h.all<StopWorkers>().size() == 1);
  CHECK(h.all<StopWorkers>().front().node.value == 1);
  h.tell(WorkersGone{{0}, 0, {}, {}}, 1);
  CHECK(h.exit_code() == 0);
}

TEST_CASE("workers that this supervisor did not order are known by attempt, state and node") {
  Harness h(group_spec({1, 1, 1}, 2, 2));
  CHECK(h.job.is_foreign({0}, {0}, 1));  // while agents join
  h.join_all();
  CHECK(h.job.is_foreign({0}, {0}, 1));  // while the port is reserved
  h.reserve();
  CHECK_FALSE(h.job.is_foreign({0}, {0}, 1));
  CHECK(h.job.is_foreign({2}, {0}, 1));  // a spare has none
  CHECK(h.job.is_foreign({0}, {1}, 1));
  h.start_all();
  CHECK_FALSE(h.job.is_foreign({0}, {0}, 1));
  h.tell_exit(exited(0, 0, 1));
  CHECK_FALSE(h.job.is_foreign({1}, {0}, 1));  // one that was started while it was to stop
  h.recover();
  CHECK_FALSE(h.job.is_foreign({0}, {0}, 1));  // of the past: they were stopped
  CHECK_FALSE(h.job.is_foreign({0}, {1}, 1));
  CHECK(h.job.is_foreign({0}, {2}, 1));
  h.tell_exit(exited(1, 0, 0));
  h.tell_exit(exited(1, 1, 0));
  CHECK_FALSE(h.job.is_foreign({0}, {2}, 1));  // at the end all agents go
}

TEST_CASE("attempts of two supervisors are told apart by the supervisor that ordered them") {
  Harness h(group_spec({1, 1, 1}, 2, 2));
  h.join_all();
  h.reserve();
  h.start_all();
  h.tell_exit(exited(0, 0, 1));
  h.recover();
  h.tell(SupervisorResumed{});
  CHECK_FALSE(h.job.is_foreign({0}, {1}, 1));  // ordered by the one before, and it goes on
  CHECK(h.job.is_foreign({0}, {1}, 2));
  h.tell_exit(exited(1, 1, 7));
  h.recover();
  CHECK_FALSE(h.job.is_foreign({0}, {2}, 2));
  CHECK(h.job.is_foreign({0}, {2}, 1));        // the one before lives on, and counts on, too
  CHECK_FALSE(h.job.is_foreign({0}, {2}, 0));  // an agent that does not say
  CHECK(h.job.is_foreign({2}, {1}, 2));  // of the past, but this supervisor did not order it
  CHECK_FALSE(h.job.is_foreign({0}, {1}, 1));
}

TEST_CASE("a given MASTER_PORT is used for every attempt without asking") {
  JobSpec spec = make_spec();
  spec.master_port = 29500;
  spec.master_addr = "head.example";
  Harness h(spec);
  h.join_all();
  CHECK(h.all<ReservePort>().empty());
  REQUIRE(h.all<StartWorkers>().size() == 1);
  CHECK(h.all<StartWorkers>().front().master_port == 29500);
  CHECK(h.all<StartWorkers>().front().master_addr == "head.example");
}

TEST_CASE("a run without workers never starts") {
  Harness h(make_spec({}));
  CHECK(h.actions.empty());
  CHECK(h.job.state() == JobState::kIdle);
  JobSpec of_any_size = make_spec({});
  of_any_size.group.open = true;
  CHECK(Harness(of_any_size).job.state() == JobState::kIdle);
}

TEST_CASE("a node may leave the number of its workers to its agent") {
  Harness h(make_spec({0, 1}));
  h.join(1);
  SUBCASE("which offers some") {
    h.tell(AgentJoined{10, "10.9.9.9", 3}, 0);
    h.reserve();
    REQUIRE(h.all<StartWorkers>().size() == 2);
    CHECK(h.all<StartWorkers>().front().workers.size() == 3);
    CHECK(h.all<StartWorkers>().front().master_addr == "10.9.9.9");
    CHECK(h.all<StartWorkers>().back().workers[0].rank.value == 3);
  }
  SUBCASE("which offers others when it is back: ranks are announced anew") {
    h.tell(AgentJoined{10, {}, 3}, 0);
    h.begin();
    h.lose(0);
    h.gone(1);
    h.tell(AgentJoined{10, {}, 2}, 0);
    CHECK(h.all<GroupFormed>().size() == 1);
    h.begin();
    CHECK(h.node_of == std::vector<std::uint32_t>{0, 0, 1});
  }
  SUBCASE("which counts for nothing where the number is given") {
    h.tell(AgentJoined{10, {}, 3}, 0);
    h.lose(1);
    h.tell(AgentJoined{10, {}, 9}, 1);
    h.begin();
    CHECK(h.node_of == std::vector<std::uint32_t>{0, 0, 0, 1});
  }
}

TEST_CASE("nodes that offer no worker at all end the run with 94") {
  Harness h(make_spec({0}));
  h.tell(AgentJoined{10, {}, 0});
  CHECK(h.decided(Rule::kInfrastructureGivenUp));
  CHECK(h.exit_code() == 94);
}

TEST_CASE("a worker's death stops the others on every node at once, then all start again") {
  Harness h(make_spec({2, 1}));
  h.run();
  WorkerExited death = killed(0, 1, SIGKILL);
  death.oom = OomKiller::kKernel;
  h.tell_exit(death);
  CHECK(h.text(Rule::kWorkerFailed) ==
        "rank 1 on node0: SIGKILL (by the kernel's OOM killer); stopping the other 2 ranks");
  const auto stops = h.all<StopWorkers>();
  REQUIRE(stops.size() == 2);
  CHECK(stops[1].signal == SIGTERM);
  CHECK(stops[1].grace == seconds(30));
  CHECK(stops[1].reason == StopReason::kRestart);
  WorkerExited stopped = killed(0, 0, SIGTERM);
  stopped.stopped_by_us = true;
  h.tell_exit(stopped);
  h.tell(WorkersGone{{0}, 0, {}, {}}, 0);
  CHECK(h.actions.empty());
  h.tell(WorkersGone{{0}, 0, {}, {}}, 1);
  CHECK(h.text(Rule::kRestart) == "restart 1 of 3: starting 3 workers on 2 nodes again");
  CHECK(h.job.attempt().value == 1);
  REQUIRE(h.all<ReservePort>().size() == 1);
  CHECK(h.all<ReservePort>().front().attempt.value == 1);
  h.reserve();
  CHECK(h.all<StartWorkers>().size() == 2);
  CHECK(h.all<StartWorkers>().front().attempt.value == 1);
  CHECK(h.all<StartWorkers>().front().master_port == 20001);
}

TEST_CASE("without a restart left the first failing worker's code ends the run") {
  JobSpec spec = make_spec();
  spec.restart.max_restarts = 0;
  Harness h(spec);
  h.run();
  h.tell_exit(exited(0, 1, 7));
  CHECK(h.all<StopWorkers>().front().reason == StopReason::kStop);
  h.tell_exit(exited(0, 0, 8));
  h.all_gone();
  CHECK(h.decided(Rule::kBudgetExhausted));
  CHECK(h.all<Decision>().front().evidence ==
        std::vector<std::string>{"rank 1 on node0: exit code 7", "rank 0 on node0: exit code 8"});
  CHECK(h.exit_code() == 7);
}

TEST_CASE("the error file's own time tells which worker failed first") {
  JobSpec spec = make_spec();
  spec.restart.max_restarts = 0;
  Harness h(spec);
  h.run();
  h.now += seconds(100);
  WorkerExited first = exited(0, 0, 5), second = exited(0, 1, 6);
  SUBCASE("earlier wins") {
    second.error_timestamp_s = 1'700'000'090;
    h.tell_exit(first);
    h.tell_exit(second);
    h.all_gone();
    CHECK(h.exit_code() == 6);
  }
  SUBCASE("a time before the attempt or in the future is not believed") {
    second.error_timestamp_s = 12;
    first.error_timestamp_s = 1'900'000'000;
    h.tell_exit(first);
    h.tell_exit(second);
    h.all_gone();
    CHECK(h.exit_code() == 5);
  }
}

TEST_CASE("workers that were stopped by us are no failures, whatever they exit with") {
  JobSpec spec = make_spec();
  spec.restart.max_restarts = 0;
  Harness h(spec);
  h.run();
  h.tell_exit(exited(0, 1, 7));
  WorkerExited stopped = exited(0, 0, 3);
  stopped.stopped_by_us = true;
  stopped.error_timestamp_s = 1'700'000'000;
  h.tell_exit(stopped);
  h.all_gone();
  CHECK(h.all<Decision>().front().evidence.size() == 1);
  CHECK(h.exit_code() == 7);
}

TEST_CASE("exit code 93 ends the run with 93 and without a restart") {
  Harness h;
  h.run();
  SUBCASE("as the first failure") {
    h.tell_exit(exited(0, 0, 93));
    CHECK(h.all<StopWorkers>().size() == 1);
  }
  SUBCASE("after another worker's failure") {
    h.tell_exit(exited(0, 1, 1));
    h.tell_exit(exited(0, 0, 93));
  }
  CHECK(h.decided(Rule::kDoNotRequeue));
  CHECK(h.job.state() == JobState::kFinishing);
  h.all_gone();
  CHECK(h.exit_code() == 93);
}

TEST_CASE("compat mode: 93 is a failure like any other, every failure is 1") {
  JobSpec spec = make_spec();
  spec.compat = true;
  spec.restart.max_restarts = 1;
  Harness h(spec);
  h.run();
  h.tell_exit(exited(0, 0, 93));
  h.recover();
  h.tell_exit(exited(1, 0, 93));
  h.all_gone();
  CHECK(h.decided(Rule::kBudgetExhausted));
  CHECK(h.exit_code() == 1);
}

TEST_CASE("a program that cannot be run is never retried") {
  struct Row {
    int os_errno;
    bool compat;
    int code;
  };
  for (const Row row : {Row{ENOENT, false, 127}, Row{EACCES, false, 126}, Row{ENOEXEC, false, 126},
                        Row{ENOENT, true, 1}}) {
    CAPTURE(row.os_errno);
    JobSpec spec = make_spec();
    spec.compat = row.compat;
    Harness h(spec);
    h.join_all();
    h.reserve();
    h.tell(WorkerStartFailed{{0}, {0}, row.os_errno, "exec python: no"});
    CHECK(h.text(Rule::kStartFailed) ==
          "rank 0 on node0 could not be started: exec python: no; stopping the other rank");
    h.all_gone();
    CHECK(h.exit_code() == row.code);
  }
}

TEST_CASE("a start that fails for want of memory is not counted") {
  JobSpec spec = make_spec();
  spec.restart.max_restarts = 0;
  Harness h(spec);
  h.join_all();
  h.reserve();
  h.tell(WorkerStartFailed{{0}, {0}, EAGAIN, "fork: try again"});
  h.recover();
  CHECK(h.job.attempt().value == 1);
}

TEST_CASE("a worker may end well before the others have started") {
  Harness h;
  h.join_all();
  h.reserve();
  h.tell_exit(exited(0, 0, 0));
  CHECK(h.job.state() == JobState::kStarting);
  h.tell(WorkerStarted{{0}, {1}, 101});
  CHECK(h.job.state() == JobState::kRunning);
  h.tell_exit(exited(0, 1, 0));
  h.all_gone();
  CHECK(h.exit_code() == 0);
}

TEST_CASE("a worker whose end was never reported counts as infrastructure's fault") {
  JobSpec spec = make_spec();
  spec.restart.max_restarts = 0;
  Harness h(spec);
  h.run();
  h.tell_exit(exited(0, 0, 0));
  h.tell(WorkersGone{{0}, 0, {}, {}});
  CHECK(h.decided(Rule::kWorkerFailed));
  CHECK(h.decided(Rule::kRestart));
}

TEST_CASE("evidence is bounded: what is too much is counted") {
  JobSpec spec = make_spec({64});
  spec.restart.max_restarts = 0;
  Harness h(spec);
  h.run();
  for (std::uint32_t rank = 0; rank < 64; ++rank) h.tell_exit(exited(0, rank, 1));
  h.all_gone();
  const auto evidence = h.all<Decision>().front().evidence;
  REQUIRE(evidence.size() == 17);
  CHECK(evidence.back() == "and 48 more");
}

TEST_CASE("1,024 nodes with 8 workers each: one attempt is handled within a second") {
  Harness h(make_spec(std::vector<std::uint32_t>(1024, 8)));
  const std::clock_t before = std::clock();  // of the processor: the machine may have more to do
  h.run();
  h.tell_exit(killed(0, 4711, SIGKILL));
  for (std::uint32_t rank = 0; rank < 8192; ++rank) h.tell_exit(exited(0, rank, 1));
  h.recover();
  CHECK(h.job.attempt().value == 1);
  CHECK(std::clock() - before < (robustrun::test::kSanitized ? 20 : 1) * CLOCKS_PER_SEC);
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_test
