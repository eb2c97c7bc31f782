// Budgets, back-off, crash loops, port conflicts, overdue answers.
#include <doctest/doctest.h>

#include <cerrno>
#include <csignal>

#include "supervisor/core/job/job.h"
#include "supervisor/core/types/limits.h"
#include "tests/supervisor/job_harness.h"

namespace robustrun::supervisor::test::job_restart_test {
namespace {

TEST_CASE("the first restart is at once, the second waits, progress makes it immediate again") {
  Harness h;
  h.run();
  h.tell_exit(killed(0, 0, SIGKILL));
  h.all_gone();
  CHECK(h.job.state() == JobState::kReserving);
  h.reserve();
  h.start_all();
  h.tell_exit(exited(1, 0, 2));
  h.all_gone();
  CHECK(h.job.state() == JobState::kBackoff);
  const Nanos wait = h.timers[1].at - h.now;
  CHECK(wait >= milliseconds(500));
  CHECK(wait <= seconds(1));
  h.fire(TimerId::kBackoff);
  h.reserve();
  h.start_all();
  h.first_step();
  h.tell_exit(exited(2, 0, 2));
  h.all_gone();
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("why a worker had no standby is reported once for each reason") {
  Harness h(make_spec({2, 2}));
  h.run();
  h.tell_exit(killed(0, 0, SIGKILL));
  h.all_gone();
  h.reserve();
  const auto start = [&](std::uint32_t rank, const std::string& cold) {
    WorkerStarted started{h.job.attempt(), {rank}, 100};
    started.cold = cold;
    h.tell(started, h.node_of[rank]);
  };
  start(0, "it had died");
  CHECK(h.text(Rule::kColdStart) == "rank 0 starts without a standby worker: it had died");
  start(1, "it had died");
  CHECK_FALSE(h.decided(Rule::kColdStart));
  start(2, "it was importing");
  CHECK(h.text(Rule::kColdStart) == "rank 2 starts without a standby worker: it was importing");
  start(3, "");
  CHECK_FALSE(h.decided(Rule::kColdStart));
  CHECK(h.job.state() == JobState::kRunning);
  for (int i = 0; i < 20; ++i) {
    h.tell_exit(killed(h.job.attempt().value, 0, SIGKILL));
    h.all_gone();
    if (h.job.state() == JobState::kFinished) break;
    if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
    h.reserve();
    start(0, "reason " + std::to_string(i));
    CHECK(h.decided(Rule::kColdStart) == (i + 2 < static_cast<int>(kColdReasonsMax)));
    for (std::uint32_t rank = 1; rank < 4; ++rank) start(rank, "");
    h.first_step();
  }
}

TEST_CASE("the same seed gives the same back-off, another seed another") {
  Nanos waits[3];
  const std::uint64_t seeds[] = {5, 5, 6};
  for (int i = 0; i < 3; ++i) {
    Harness h(make_spec(), seeds[i]);
    h.run();
    h.tell_exit(exited(0, 0, 1));
    h.recover();
    h.tell_exit(exited(1, 0, 2));
    h.all_gone();
    waits[i] = h.timers[1].at - h.now;
  }
  CHECK(waits[0] == waits[1]);
  CHECK(waits[0] != waits[2]);
}

TEST_CASE("compat mode restarts at once and knows no crash loop") {
  JobSpec spec = make_spec();
  spec.compat = true;
  spec.restart.max_restarts = 5;
  Harness h(spec);
  h.run();
  for (std::uint32_t attempt = 0; attempt < 5; ++attempt) {
    h.tell_exit(exited(attempt, 0, 1));
    h.all_gone();
    REQUIRE(h.job.state() == JobState::kReserving);
    h.reserve();
    h.start_all();
  }
  h.tell_exit(exited(5, 0, 1));
  h.all_gone();
  CHECK(h.decided(Rule::kBudgetExhausted));
  CHECK(h.exit_code() == 1);
}

TEST_CASE("the same failure twice before any progress is a crash loop") {
  Harness h;
  h.run();
  WorkerExited crash = exited(0, 0, 1);
  crash.stderr_tail = {"ImportError: no module at 0x1234"};
  h.tell_exit(crash);
  h.recover();
  crash = exited(1, 1, 1);
  SUBCASE("on another rank, with other numbers") {
    crash.stderr_tail = {"ImportError: no module at 0x9876"};
    h.tell_exit(crash);
    h.all_gone();
    CHECK(h.decided(Rule::kCrashLoop));
    CHECK(h.exit_code() == 95);
  }
  SUBCASE("but another failure is not") {
    crash.stderr_tail = {"MemoryError"};
    h.tell_exit(crash);
    h.all_gone();
    CHECK(h.decided(Rule::kRestart));
  }
  SUBCASE("nor one after progress") {
    crash.stderr_tail = {"ImportError: no module at 0x9876"};
    h.first_step();
    h.tell_exit(crash);
    h.all_gone();
    CHECK(h.decided(Rule::kRestart));
  }
}

TEST_CASE("a window of progress makes the budget full again") {
  JobSpec spec = make_spec();
  spec.restart.max_restarts = 1;
  spec.restart.window = seconds(100);
  Harness h(spec);
  h.run();
  h.tell_exit(exited(0, 0, 1));
  h.recover();
  h.now += seconds(99);
  h.first_step();
  CHECK_FALSE(h.decided(Rule::kBudgetRefilled));
  h.now += seconds(2);
  h.tell(Progress{{1}, Progress::Mark::kSummary, h.now, 50, {}, {}, {}});
  CHECK(h.decided(Rule::kBudgetRefilled));
  h.tell_exit(exited(1, 0, 1));
  h.recover();
  CHECK(h.job.attempt().value == 2);
}

TEST_CASE("a summary without new steps is no progress") {
  JobSpec spec = make_spec();
  spec.restart.max_restarts = 1;
  spec.restart.window = seconds(100);
  Harness h(spec);
  h.run();
  h.tell_exit(exited(0, 0, 1));
  h.recover();
  h.first_step();
  for (int i = 0; i < 10; ++i) {
    h.now += seconds(60);
    h.tell(Progress{{1}, Progress::Mark::kSummary, h.now, 1, {}, {}, {}});
    CHECK_FALSE(h.decided(Rule::kBudgetRefilled));
  }
}

TEST_CASE("without a progress source living on is progress") {
  JobSpec spec = make_spec();
  spec.restart.max_restarts = 1;
  spec.restart.window = seconds(120);
  Harness h(spec);
  h.run();
  h.tell_exit(exited(0, 0, 1));
  h.recover();
  const Nanos running_since = h.now;
  h.fire(TimerId::kUptime);
  CHECK(h.now - running_since == seconds(60));
  SUBCASE("minute by minute") {
    h.fire(TimerId::kUptime);
    CHECK(h.decided(Rule::kBudgetRefilled));
  }
  SUBCASE("until a source appears") {
    h.first_step();
    h.now += seconds(1000);
    h.fire(TimerId::kUptime);
    CHECK(h.actions.empty());
  }
}

TEST_CASE("rank 0 finding its fresh port taken is not counted") {
  JobSpec spec = make_spec();
  spec.restart.max_restarts = 0;
  WorkerExited conflict = exited(0, 0, 1);
  conflict.error_message = "RuntimeError: EADDRINUSE";
  SUBCASE("even if another rank failed before") {
    Harness h(spec);
    h.run();
    h.tell_exit(exited(0, 1, 1));
    h.tell_exit(conflict);
    CHECK(h.decided(Rule::kPortConflict));
    h.all_gone();
    CHECK(h.decided(Rule::kRestart));
  }
  SUBCASE("a few times in a row") {
    Harness h(spec);
    h.run();
    for (std::uint32_t attempt = 0; attempt < kPortConflictsMax; ++attempt) {
      conflict.attempt.value = attempt;
      h.tell_exit(conflict);
      CHECK(h.decided(Rule::kPortConflict));
      h.recover();
    }
    conflict.attempt.value = kPortConflictsMax;
    h.tell_exit(conflict);
    CHECK(h.decided(Rule::kWorkerFailed));
    h.all_gone();
    CHECK(h.exit_code() == 1);
  }
  SUBCASE("but after the first step, on another rank or for a given port it is the script's") {
    for (const bool given : {false, true}) {
      spec.master_port = given ? 29500 : 0;
      Harness h(spec);
      h.join_all();
      if (!given) h.reserve();
      h.start_all();
      if (!given) h.first_step();
      h.tell_exit(conflict);
      CHECK(h.decided(Rule::kWorkerFailed));
    }
    spec.master_port = 0;
    conflict.rank.value = 1;
    Harness h(spec);
    h.run();
    h.tell_exit(conflict);
    CHECK(h.decided(Rule::kWorkerFailed));
  }
}

TEST_CASE("infrastructure faults in a row without progress end the run with 94") {
  JobSpec spec = make_spec({1});
  spec.restart.max_restarts = 0;
  spec.restart.max_infrastructure_restarts = 3;
  Harness h(spec);
  h.run();
  for (std::uint32_t attempt = 0; attempt < 3; ++attempt) {
    h.tell(AgentLost{"killed", true});
    h.tell(AgentJoined{10, {}, 0});
    if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
    h.reserve();
    h.start_all();
    REQUIRE(h.job.attempt().value == attempt + 1);
  }
  SUBCASE("the next one is too many") {
    h.tell(AgentLost{"killed", true});
    CHECK(h.decided(Rule::kInfrastructureGivenUp));
    CHECK(h.exit_code() == 94);
  }
  SUBCASE("progress starts a new row") {
    h.first_step();
    h.tell(AgentLost{"killed", true});
    CHECK(h.decided(Rule::kRestart));
  }
}

TEST_CASE("compat mode counts every restart against --max-restarts, whatever the cause") {
  for (const std::string what : {"no start", "lost agent", "killed shim", "port in use"}) {
    CAPTURE(what);
    JobSpec spec = make_spec({2});
    spec.compat = true;
    spec.restart.max_restarts = 1;
    Harness h(spec);
    h.join_all();
    for (std::uint32_t attempt = 0; attempt < 2; ++attempt) {
      if (what == "lost agent" && attempt > 0) h.join(0);
      h.reserve();
      if (what == "no start") {
        h.tell(WorkerStartFailed{{attempt}, {0}, EMFILE, "cannot start it: Too many open files"});
      } else {
        h.start_all();
      }
      if (what == "lost agent") h.lose(0);
      if (what == "killed shim" || what == "port in use") {
        WorkerExited exit =
            what == "port in use" ? exited(attempt, 0, 1) : killed(attempt, 0, SIGKILL);
        exit.shim_lost = what == "killed shim";
        exit.error_message = "RuntimeError: EADDRINUSE";
        h.tell_exit(exit);
      }
      if (what != "lost agent") h.all_gone();
      if (attempt == 0) CHECK(h.text(Rule::kRestart).starts_with("restart 1 of 1"));
    }
    CHECK(h.decided(Rule::kBudgetExhausted));
    CHECK(h.exit_code() == 1);
  }
}

TEST_CASE("compat mode does not try a start again that failed before any worker") {
  JobSpec spec = make_spec();
  spec.compat = true;
  spec.restart.max_restarts = 0;
  Harness h(spec);
  h.join_all();
  h.tell(PortReserved{{0}, 0, "none free"});
  CHECK(h.all<ReservePort>().empty());
  CHECK(h.decided(Rule::kInfrastructureGivenUp));
  CHECK(h.exit_code() == 1);
}

TEST_CASE("a port that cannot be reserved, or an answer that does not come, is tried again") {
  JobSpec spec = make_spec();
  spec.restart.max_infrastructure_restarts = 2;
  Harness h(spec);
  h.join_all();
  h.tell(PortReserved{{0}, 0, "none free"});
  CHECK(h.all<ReservePort>().size() == 1);
  h.fire(TimerId::kState);
  CHECK(h.job.state() == JobState::kBackoff);
  h.fire(TimerId::kBackoff);
  h.tell(PortReserved{{0}, 99999, {}});
  CHECK(h.exit_code() == 94);
}

TEST_CASE("workers that do not start in time are stopped and started again") {
  Harness h;
  h.join_all();
  h.reserve();
  h.tell(WorkerStarted{{0}, {0}, 100});
  h.fire(TimerId::kState);
  CHECK(h.text(Rule::kStartFailed) ==
        "1 of 2 workers did not start within 60 s; stopping both ranks");
  h.recover();
  CHECK(h.job.attempt().value == 1);
}

TEST_CASE("nothing is started beside a worker that cannot be killed") {
  Harness h;
  h.run();
  h.tell_exit(exited(0, 0, 1));
  h.tell(WorkersGone{{0}, 0, {"pid 12 (python), D state in nfs_wait"}, {}});
  CHECK(h.text(Rule::kInfrastructureGivenUp) ==
        "pid 12 (python), D state in nfs_wait on node0 cannot be killed: giving up, as nothing can "
        "be started beside it");
  CHECK(h.exit_code() == 94);
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_restart_test
