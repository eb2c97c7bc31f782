// Signals, time limit, step goal.
#include <doctest/doctest.h>

#include <csignal>

#include "supervisor/core/job/job.h"
#include "tests/supervisor/job_harness.h"

namespace robustrun::supervisor::test::job_end_test {
namespace {

TEST_CASE("the first signal is forwarded with the grace period and ends the run with 128 + n") {
  for (const bool compat : {false, true}) {
    JobSpec spec = make_spec({1, 1});
    spec.compat = compat;
    spec.deadlines.shutdown_grace = seconds(7);
    Harness h(spec);
    h.run();
    h.tell(SignalReceived{SIGHUP, false});
    CHECK(h.decided(Rule::kSignal));
    REQUIRE(h.all<StopWorkers>().size() == 2);
    CHECK(h.all<StopWorkers>().front().signal == SIGHUP);
    CHECK(h.all<StopWorkers>().front().grace == seconds(7));
    CHECK(h.all<StopWorkers>().front().reason == StopReason::kStop);
    h.tell_exit(exited(0, 0, 0));
    h.tell_exit(exited(0, 1, 0));
    h.all_gone();
    CHECK(h.exit_code() == (compat ? 1 : 129));
  }
}

WorkerExited killed_by_us(std::uint32_t rank) {
  WorkerExited exited = killed(0, rank, SIGKILL);
  exited.stopped_by_us = true;
  return exited;
}

TEST_CASE("workers that had to be killed are named, but not where no time was given") {
  for (const bool is_hurried : {false, true}) {
    JobSpec spec = make_spec({2});
    spec.deadlines.shutdown_grace = seconds(4);
    Harness h(spec);
    h.run();
    h.tell(SignalReceived{SIGTERM, false});
    if (is_hurried) {
      h.tell(SignalReceived{SIGTERM, false});
      h.tell(SignalReceived{SIGTERM, false});
    } else {
      h.tell_exit(exited(0, 1, 0));
    }
    h.now += seconds(4);
    h.tell_exit(killed_by_us(0));
    h.all_gone();
    CHECK(h.decided(Rule::kKilled) == !is_hurried);
    if (!is_hurried)
      CHECK(h.text(Rule::kKilled) == "rank 0 had not ended after 4 s, and was killed");
  }
  Harness restarts(make_spec({3}));
  restarts.run();
  restarts.tell_exit(killed(0, 0, SIGSEGV));
  restarts.now += seconds(30);
  restarts.tell_exit(killed_by_us(2));
  restarts.tell_exit(killed_by_us(1));
  restarts.all_gone();
  CHECK(restarts.text(Rule::kKilled) == "ranks 1 and 2 had not ended after 30 s, and were killed");
}

TEST_CASE("a stop may bring a grace period of its own, and is named") {
  Harness h;
  h.run();
  SignalReceived stop{SIGTERM, false};
  stop.grace = seconds(3);
  stop.by = "robustrun stop";
  h.tell(stop);
  REQUIRE_FALSE(h.all<StopWorkers>().empty());
  CHECK(h.all<StopWorkers>().front().grace == seconds(3));
  CHECK(h.text(Rule::kSignal) == "stopping (robustrun stop); 3 s to save, a second signal kills");
  CHECK(h.evidence(Rule::kSignal).front() == "stopped (robustrun stop)");
}

TEST_CASE("a stop that comes while workers are being stopped says what is left of their time") {
  Harness h(make_spec({3}));
  h.run();
  h.tell_exit(killed(0, 0, SIGSEGV));
  REQUIRE(h.job.state() == JobState::kStopping);
  h.now += seconds(25);
  SignalReceived stop{SIGTERM, false};
  stop.by = "robustrun stop";
  h.tell(stop);
  CHECK(h.text(Rule::kSignal) == "stopping (robustrun stop); 5 s to save, a second signal kills");
  REQUIRE_FALSE(h.all<StopWorkers>().empty());
  CHECK(h.all<StopWorkers>().front().grace == seconds(5));
}

WorkerExited after(base::ScriptEnd end, WorkerExited exited) {
  exited.script_end = end;
  return exited;
}

TEST_CASE("a crash when script and exit handlers had ended counts as exit code 0, with a note") {
  using enum base::ScriptEnd;
  for (const int signal : {SIGABRT, SIGSEGV, SIGKILL}) {
    Harness h(make_spec({1, 1}));
    h.run();
    h.tell_exit(after(kFinished, killed(0, 0, signal)));
    CHECK(h.text(Rule::kLateCrash) ==
          "rank 0 on node0: " + base::signal_name(signal) +
              " after its script and exit handlers had ended: counts as exit code 0");
    CHECK(h.job.state() == JobState::kRunning);
    CHECK(h.all<StopWorkers>().empty());
    h.tell_exit(exited(0, 1, 0));
    CHECK(h.decided(Rule::kSucceeded));
    h.all_gone();
    CHECK(h.exit_code() == 0);
  }
}

TEST_CASE("a crash when only the script had returned is no success, and nothing starts again") {
  using enum base::ScriptEnd;
  const WorkerExited ends[] = {after(kReturned, killed(0, 0, SIGABRT)),
                               after(kReturned, exited(0, 0, 134)),
                               after(kFinished, exited(0, 0, 134))};  // as when stdout is full
  for (const WorkerExited& end : ends) {
    Harness h(make_spec({1, 1}));
    h.run();
    h.first_step();
    h.tell_exit(end);
    CHECK(h.text(Rule::kWorkerFailed).find("a save or an upload under way may be lost") !=
          std::string::npos);
    CHECK(h.all<StopWorkers>().empty());  // the others may still save
    h.tell_exit(exited(0, 1, 0));
    CHECK(h.decided(Rule::kBudgetExhausted));
    h.all_gone();
    CHECK(h.exit_code() == 134);
  }
}

TEST_CASE("a worker that fails without a rank whose script had returned is not restarted either") {
  Harness h(make_spec({1, 1}));
  h.run();
  h.tell_exit(after(base::ScriptEnd::kReturned, killed(0, 0, SIGABRT)));
  h.tell_exit(exited(0, 1, 1));
  h.all_gone();
  CHECK(h.decided(Rule::kBudgetExhausted));
  CHECK(h.exit_code() == 134);

  // Nor if that one fails first.
  Harness other(make_spec({1, 1}));
  other.run();
  other.tell_exit(exited(0, 1, 1));
  other.tell_exit(after(base::ScriptEnd::kReturned, killed(0, 0, SIGABRT)));
  other.all_gone();
  CHECK(other.exit_code() == 134);
}

TEST_CASE("a kill from outside before the exit handlers have run is a failure as any") {
  Harness h(make_spec({1, 1}));
  h.run();
  h.tell_exit(after(base::ScriptEnd::kReturned, killed(0, 0, SIGKILL)));
  h.all_gone();
  CHECK(h.decided(Rule::kRestart));
  h.recover();
  h.tell_exit(exited(1, 0, 0));
  h.tell_exit(exited(1, 1, 0));
  h.all_gone();
  CHECK(h.exit_code() == 0);
}

TEST_CASE("a second signal kills at once, further ones change nothing") {
  Harness h;
  h.run();
  h.tell(SignalReceived{SIGINT, false});
  h.now += seconds(1);
  h.tell(SignalReceived{SIGINT, false});
  CHECK(h.decided(Rule::kSecondSignal));
  REQUIRE(h.all<StopWorkers>().size() == 1);
  CHECK(h.all<StopWorkers>().front().grace == Nanos{});
  CHECK(h.timers[0].at - h.now == seconds(15));
  h.tell(SignalReceived{SIGINT, false});
  CHECK(h.actions.empty());
  h.fire(TimerId::kState);
  CHECK(h.exit_code() == 130);
}

TEST_CASE("a second signal gives no worker more time") {
  JobSpec spec = make_spec({1});
  spec.deadlines.shutdown_grace = {};
  Harness h(spec);
  h.run();
  h.tell(SignalReceived{SIGINT, false});
  const Nanos latest = h.timers[0].at;
  h.now += seconds(5);
  h.tell(SignalReceived{SIGINT, false});
  CHECK(h.decided(Rule::kSecondSignal));
  CHECK(h.timers[0].at == latest);
}

TEST_CASE("a stop with a grace period of its own hurries a run that is ending already") {
  JobSpec spec = make_spec({1});
  spec.deadlines.shutdown_grace = seconds(60);
  Harness h(spec);
  h.run();
  h.tell(StepGoalReached{h.job.attempt(), 10});
  h.now += seconds(1);
  SignalReceived stop{SIGTERM, false};
  stop.grace = seconds(3);
  h.tell(stop);
  REQUIRE(h.all<StopWorkers>().size() == 1);
  CHECK(h.all<StopWorkers>().front().grace == seconds(3));
  CHECK(h.timers[0].at - h.now == seconds(3) + spec.deadlines.kill_margin);
  h.now += seconds(1);
  stop.grace = seconds(600);
  h.tell(stop);
  CHECK(h.all<StopWorkers>().front().grace == Nanos{});
}

TEST_CASE("a signal while no worker runs ends the run at once") {
  Harness joining;
  joining.tell(SignalReceived{SIGTERM, false});
  CHECK(joining.exit_code() == 143);
  Harness reserving;
  reserving.join_all();
  reserving.tell(SignalReceived{SIGTERM, false});
  CHECK(reserving.exit_code() == 143);
  Harness backoff;
  backoff.run();
  backoff.tell_exit(exited(0, 0, 1));
  backoff.recover();
  backoff.tell_exit(exited(1, 0, 2));
  backoff.all_gone();
  REQUIRE(backoff.job.state() == JobState::kBackoff);
  backoff.tell(SignalReceived{SIGTERM, false});
  CHECK(backoff.exit_code() == 143);
}

TEST_CASE("a signal during a restart's stop does not lengthen the grace period") {
  Harness h;
  h.run();
  h.tell_exit(exited(0, 0, 1));
  h.now += seconds(20);
  h.tell(SignalReceived{SIGTERM, false});
  REQUIRE(h.all<StopWorkers>().size() == 1);
  CHECK(h.all<StopWorkers>().front().grace == seconds(10));
  CHECK(h.all<StopWorkers>().front().reason == StopReason::kStop);
  h.all_gone();
  CHECK(h.exit_code() == 143);
}

TEST_CASE("a signal after success leaves the exit code 0; a second one hurries") {
  Harness h;
  h.run();
  h.tell_exit(exited(0, 0, 0));
  h.tell_exit(exited(0, 1, 0));
  h.tell(SignalReceived{SIGTERM, false});
  CHECK(h.all<StopWorkers>().front().grace == seconds(5));
  h.tell(SignalReceived{SIGTERM, false});
  CHECK(h.all<StopWorkers>().front().grace == Nanos{});
  h.all_gone();
  CHECK(h.exit_code() == 0);
}

TEST_CASE("the user's own signals are passed on to living workers and change nothing") {
  Harness h(make_spec({1, 1}));
  h.tell(SignalReceived{SIGUSR1, true});
  CHECK(h.actions.empty());
  h.run();
  h.tell_exit(exited(0, 1, 0));
  h.tell(WorkersGone{{0}, 0, {}, {}}, 1);
  h.tell(SignalReceived{SIGUSR1, true});
  REQUIRE(h.all<ForwardSignal>().size() == 1);
  CHECK(h.all<ForwardSignal>().front().signal == SIGUSR1);
  CHECK(h.all<ForwardSignal>().front().node.value == 0);
  CHECK(h.job.state() == JobState::kRunning);
}

TEST_CASE("the time limit counts from the start of the run and ends it with 124") {
  JobSpec spec = make_spec();
  spec.time_limit = seconds(90);
  Harness h(spec);
  const Nanos start = h.now;
  h.run();
  h.tell_exit(killed(0, 0, SIGKILL));
  h.recover();
  h.fire(TimerId::kTimeLimit);
  CHECK(h.now - start == seconds(90));
  CHECK(h.text(Rule::kTimeLimit) == "time limit of 90 s reached");
  CHECK(h.all<StopWorkers>().front().signal == SIGTERM);
  h.all_gone();
  CHECK(h.exit_code() == 124);
}

TEST_CASE("a scheduler's preemption lets the workers save and asks for another start") {
  Harness h;
  h.run();
  SignalReceived preempted{SIGTERM, false, {}, "Slurm preempts job 12"};
  preempted.cause = SignalReceived::Cause::kPreempted;
  h.tell(preempted);
  CHECK(h.text(Rule::kPreempted) ==
        "stopping (Slurm preempts job 12); 30 s to save, a second signal kills");
  REQUIRE(h.all<StopWorkers>().size() == 1);
  CHECK(h.all<StopWorkers>().front().reason == StopReason::kPreempt);
  CHECK(h.all<StopWorkers>().front().signal == SIGTERM);
  CHECK(h.all<StopWorkers>().front().grace == seconds(30));
  h.tell(SignalReceived{SIGTERM, false});   // another report of the same
  CHECK(h.all<StopWorkers>().front().reason == StopReason::kPreempt);
  h.tell_exit(exited(0, 0, 1));
  h.all_gone();
  CHECK(h.exit_code() == 94);
}

TEST_CASE("a scheduler's time limit ends the run as our own does") {
  Harness h;
  h.run();
  SignalReceived late{SIGTERM, false, {}, "the time limit of job 12 is near"};
  late.cause = SignalReceived::Cause::kTimeLimit;
  h.tell(late);
  CHECK(h.decided(Rule::kTimeLimit));
  CHECK(h.all<StopWorkers>().front().reason == StopReason::kStop);
  h.all_gone();
  CHECK(h.exit_code() == 124);
}

TEST_CASE("a preempted worker may ask not to be requeued") {
  for (const auto cause : {SignalReceived::Cause::kPreempted, SignalReceived::Cause::kTimeLimit}) {
    Harness h;
    h.run();
    SignalReceived end{SIGTERM, false, {}, "Slurm preempts job 12"};
    end.cause = cause;
    h.tell(end);
    h.tell_exit(exited(0, 0, 93));
    CHECK(h.decided(Rule::kDoNotRequeue));
    h.tell_exit(exited(0, 1, 93));
    CHECK_FALSE(h.decided(Rule::kDoNotRequeue));
    h.all_gone();
    CHECK(h.exit_code() == 93);
  }
  Harness stopped;
  stopped.run();
  stopped.tell(SignalReceived{SIGTERM, false});
  stopped.tell_exit(exited(0, 0, 93));
  stopped.all_gone();
  CHECK(stopped.exit_code() == 143);
}

TEST_CASE("reaching the step goal ends the run with 0") {
  Harness h;
  h.run();
  h.tell(StepGoalReached{{0}, 100});
  CHECK(h.decided(Rule::kStepGoal));
  h.tell_exit(killed(0, 0, SIGTERM));
  h.all_gone();
  CHECK(h.exit_code() == 0);
}

TEST_CASE("an end does not wait for ever: not for lost agents, not for silent ones") {
  Harness h(make_spec({1, 1}));
  h.run();
  h.tell(SignalReceived{SIGTERM, false});
  h.tell(AgentLost{"killed", true}, 0);
  CHECK(h.all<LaunchAgent>().empty());
  SUBCASE("lost") { h.tell(AgentLost{"killed", true}, 1); }
  SUBCASE("silent") {
    h.fire(TimerId::kState);
    CHECK(h.text(Rule::kSignal).find("agent of node1") != std::string::npos);
  }
  CHECK(h.all<DismissAgent>().size() == 2);
  CHECK(h.exit_code() == 143);
}

TEST_CASE("what cannot be killed at the end is named") {
  Harness h;
  h.run();
  h.tell(SignalReceived{SIGTERM, false});
  h.tell(WorkersGone{{0}, 0, {"pid 12 (python)"}, {}});
  CHECK(h.text(Rule::kSignal) == "left behind: pid 12 (python) on node0 cannot be killed");
  CHECK(h.exit_code() == 143);
}

TEST_CASE("nothing moves a finished run") {
  Harness h;
  h.tell(SignalReceived{SIGTERM, false});
  REQUIRE(h.job.state() == JobState::kFinished);
  const std::uint64_t digest = h.job.digest();
  h.tell(AgentJoined{10, {}, 0});
  h.tell(AgentLost{"x", true});
  h.tell(SignalReceived{SIGTERM, false});
  h.fire(TimerId::kState);
  CHECK(h.actions.empty());
  CHECK(h.job.digest() == digest);
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_end_test
