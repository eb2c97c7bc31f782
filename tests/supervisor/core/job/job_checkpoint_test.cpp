// Which checkpoint a job goes on from: failures soon after a resume set it aside, machines' do not.
#include <doctest/doctest.h>

#include <csignal>

#include "supervisor/core/types/limits.h"
#include "tests/supervisor/job_harness.h"
#include "tests/supervisor/policy_words.h"

namespace robustrun::supervisor::test::job_checkpoint_test {
namespace {

using What = CheckpointNoted::What;

JobSpec spec_of(std::uint32_t after = 2) {
  JobSpec spec = policy_spec({1, 1, 1}, 2, 2);
  spec.policy.poison_after = after;
  for (Ladder& ladder : spec.policy.ladders) {  // what is done besides is not of interest here
    if (ladder.action != FirstAction::kEvict) ladder.rungs = {{Step::kRestart, 0}};
  }
  spec.restart.max_restarts = 10;
  return spec;
}

CheckpointNoted noted(const Harness& h, What what, std::uint64_t step) {
  CheckpointNoted event;
  event.attempt = h.job.attempt();
  event.what = what;
  event.id = {step, 3, "ab"};
  event.directories = {"/data"};
  if (what == What::kLoaded) event.source = "disk";
  event.ranks = 1;
  return event;
}

void step_to(Harness& h, std::uint64_t steps) {
  const auto mark = steps == 1 ? Progress::Mark::kFirstStep : Progress::Mark::kSummary;
  h.tell(Progress{h.job.attempt(), mark, h.now, steps, {}, {}, {}});
}

// Runs, and has committed and read a checkpoint of step 100.
Harness resumed(JobSpec spec = spec_of()) {
  Harness h(std::move(spec));
  h.join_all();
  h.begin();
  step_to(h, 1);
  h.tell(noted(h, What::kCommitted, 100), 1);
  h.tell_exit(says(0, 0, "another bug"));
  h.recover();
  h.tell(noted(h, What::kLoaded, 100), 1);
  return h;
}

void end_demotion(Harness& h, const std::string& error = {}) {
  REQUIRE(h.job.state() == JobState::kBackoff);
  const std::uint32_t node = 1;
  h.tell(CheckpointDemoted{1, error}, node);
}

// The next attempt runs, perhaps behind a back-off.
void go_on(Harness& h) {
  if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
  h.begin();
}

// Down, and up again from the same checkpoint.
void fail_and_resume(Harness& h, const std::string& line = "my own bug") {
  h.tell_exit(says(h.job.attempt().value, 0, line));
  h.recover();
  h.tell(noted(h, What::kLoaded, 100), 1);
}

TEST_CASE("the checkpoint that the workers resume from is reported once") {
  Harness h(spec_of());
  h.join_all();
  h.begin();
  h.tell(noted(h, What::kCommitted, 120), 0);
  CHECK(h.actions.empty());
  h.tell(noted(h, What::kLoaded, 100), 1);
  CHECK(h.text(Rule::kResumePoint) ==
        "resuming from the checkpoint of step 100 (g3-ab), read from disk; the newest "
        "committed checkpoint, of step 120 (g3-ab), was not used");
  h.tell(noted(h, What::kLoaded, 100), 0);
  CHECK(h.actions.empty());
  h.tell(noted(h, What::kLoaded, 120), 0);
  CHECK(h.text(Rule::kResumePoint) ==
        "resuming from the checkpoint of step 120 (g3-ab), read from disk");
}

TEST_CASE(
    "two failures soon after a resume set the checkpoint aside, and the restart waits for it") {
  Harness h = resumed();
  step_to(h, 1);
  h.tell_exit(says(1, 0, "my own bug"));
  h.all_gone();
  CHECK(h.all<DemoteCheckpoint>().empty());
  go_on(h);
  h.tell(noted(h, What::kLoaded, 100), 1);
  step_to(h, 20);
  h.tell_exit(says(2, 1, "another bug"));
  h.all_gone();
  const auto orders = h.all<DemoteCheckpoint>();
  REQUIRE(orders.size() == 1);
  CHECK(orders[0].node == base::NodeId{1});  // that said that it has read it
  CHECK(orders[0].id == CheckpointId{100, 3, "ab"});
  CHECK(orders[0].directories == std::vector<std::string>{"/data"});
  CHECK(
      h.text(Rule::kCheckpointPoisoned) ==
      "setting aside the checkpoint of step 100 (g3-ab): the job failed 2 times within 20 steps of "
      "resuming from it; using the next older one");
  CHECK(h.decided(Rule::kRestart));
  REQUIRE(h.job.state() == JobState::kBackoff);
  end_demotion(h);
  CHECK(h.job.state() == JobState::kReserving);
  h.begin();
  h.tell(noted(h, What::kLoaded, 80), 1);
  CHECK(h.text(Rule::kResumePoint).ends_with("of step 100 (g3-ab), was set aside"));
}

TEST_CASE("an answer that is late, of another order or an error lets the run go on all the same") {
  Harness h = resumed(spec_of(1));
  const auto demoted = [&h] {
    h.tell_exit(says(1, 0, "my own bug"));
    h.all_gone();
    REQUIRE(h.all<DemoteCheckpoint>().size() == 1);
    REQUIRE(h.job.state() == JobState::kBackoff);
  };
  demoted();
  SUBCASE("late") {
    h.fire(TimerId::kBackoff);
    CHECK(h.text(Rule::kCheckpointKept) ==
          "no agent has set aside the checkpoint of step 100 (g3-ab) within 20 s; it may be used "
          "again");
    CHECK(h.job.state() == JobState::kReserving);
    h.tell(CheckpointDemoted{1, {}}, 1);
    CHECK(h.actions.empty());
  }
  SUBCASE("of another order") {
    h.tell(CheckpointDemoted{7, {}}, 1);
    CHECK(h.actions.empty());
    CHECK(h.job.state() == JobState::kBackoff);
  }
  SUBCASE("an error: it may be set aside another time") {
    end_demotion(h, "no such directory");
    CHECK(
        h.text(Rule::kCheckpointKept) ==
        "the checkpoint of step 100 (g3-ab) could not be set aside and may be used again: no such "
        "directory");
    go_on(h);
    h.tell(noted(h, What::kLoaded, 100), 1);
    h.tell_exit(says(2, 0, "my own bug"));
    h.all_gone();
    CHECK(h.all<DemoteCheckpoint>().size() == 1);
  }
  SUBCASE("another supervisor: the order is repeated, and its answer awaited anew") {
    h.now += seconds(60);
    h.tell(SupervisorResumed{2, "other", 7, {}, {}});
    CHECK(h.all<DemoteCheckpoint>().size() == 1);
    const Nanos until = h.timers[static_cast<std::size_t>(TimerId::kBackoff)].at;
    CHECK(until >= h.now + kReunionMax + kDemotionMax);
    h.now += kReunionMax;
    end_demotion(h);
    CHECK(h.job.state() == JobState::kReserving);
  }
}

TEST_CASE("an update at once ends the back-off and not the wait for the mark") {
  JobSpec spec = spec_of(1);
  spec.restart.backoff_first = std::chrono::seconds(200);
  spec.restart.crash_loop_stop = false;
  Harness h = resumed(spec);
  h.tell_exit(says(1, 0, "my own bug"));
  h.all_gone();
  REQUIRE(h.all<DemoteCheckpoint>().size() == 1);
  h.tell(UpdateRequested{1, {"env A=1"}, {}, true, {}});
  CHECK(h.job.state() == JobState::kBackoff);
  end_demotion(h);
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("a back-off goes on behind the answer") {
  JobSpec spec = spec_of(1);
  spec.restart.backoff_first = std::chrono::seconds(200);
  spec.restart.backoff_max = std::chrono::seconds(200);
  spec.restart.crash_loop_stop = false;
  Harness h = resumed(spec);
  h.tell_exit(says(1, 0, "my own bug"));  // the second in a row without progress
  h.all_gone();
  REQUIRE(h.all<DemoteCheckpoint>().size() == 1);
  const Nanos until = h.timers[static_cast<std::size_t>(TimerId::kBackoff)].at;
  CHECK(until >= h.now + std::chrono::seconds(100));
  end_demotion(h);
  CHECK(h.job.state() == JobState::kBackoff);
  CHECK(h.timers[static_cast<std::size_t>(TimerId::kBackoff)].at == until);
  h.fire(TimerId::kBackoff);
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("a checkpoint whose resume fails at once is set aside before it is a crash loop") {
  JobSpec spec = spec_of();
  spec.restart.crash_loop_retries = 1;
  Harness h = resumed(spec);
  fail_and_resume(h, "cannot go on");
  h.tell_exit(says(2, 0, "cannot go on"));
  h.all_gone();
  REQUIRE(h.job.state() == JobState::kBackoff);
  end_demotion(h);
  go_on(h);
  h.tell(noted(h, What::kLoaded, 80), 1);
  // The same from an older one: it was not the checkpoint.
  h.tell_exit(says(3, 0, "cannot go on"));
  h.all_gone();
  CHECK(h.decided(Rule::kCrashLoop));
}

TEST_CASE("failures that are no checkpoint's doing do not count") {
  Harness h = resumed(spec_of(1));
  const auto fails_by = [&h](const WorkerExited& exit) {
    h.tell_exit(exit);
    h.all_gone();
    CHECK(h.all<DemoteCheckpoint>().empty());
  };
  SUBCASE("so late") {
    step_to(h, 21);
    fails_by(says(1, 0, "my own bug"));
  }
  SUBCASE("a machine that is evicted") { fails_by(says(1, 0, "it is broken")); }
  SUBCASE("a network") { fails_by(says(1, 0, "it flaps")); }
  SUBCASE("it was killed from outside") {
    WorkerExited exit = exited(1, 0, SIGKILL);
    exit.kind = base::ExitStatus::Kind::kSignaled;
    fails_by(exit);
  }
  SUBCASE("a lost agent") {
    h.lose_machine(1);
    CHECK(h.all<DemoteCheckpoint>().empty());
  }
  SUBCASE("an update") {
    h.tell(UpdateRequested{1, {"env A=1"}, {}, true, {}});
    h.all_gone();
    CHECK(h.all<DemoteCheckpoint>().empty());
  }
}

TEST_CASE("nothing is set aside by a policy of 0, under compat, or when no load was reported") {
  SUBCASE("0") {
    Harness h = resumed(spec_of(0));
    h.tell_exit(says(1, 0, "my own bug"));
    h.all_gone();
    CHECK(h.all<DemoteCheckpoint>().empty());
  }
  SUBCASE("compat") {
    JobSpec spec = spec_of(1);
    spec.compat = true;
    spec.policy = {};
    Harness h = resumed(spec);
    h.tell_exit(says(1, 0, "my own bug"));
    h.all_gone();
    CHECK(h.all<DemoteCheckpoint>().empty());
  }
  SUBCASE("began anew") {
    Harness h(spec_of(1));
    h.join_all();
    h.begin();
    h.tell_exit(says(0, 0, "my own bug"));
    h.all_gone();
    CHECK(h.all<DemoteCheckpoint>().empty());
  }
}

TEST_CASE("a number that ends the attempt soon after a resume sets the checkpoint aside at once") {
  JobSpec spec = spec_of();
  spec.policy.acts_on_nan = true;
  Harness h = resumed(spec);
  step_to(h, 3);
  h.tell(MetricAlarm{h.job.attempt(), "loss", MetricAlarm::Kind::kNotANumber, 0, 2, 3, false});
  REQUIRE(h.job.state() == JobState::kStopping);
  h.all_gone();
  CHECK(h.text(Rule::kCheckpointPoisoned) ==
        "setting aside the checkpoint of step 100 (g3-ab): the job's numbers went wrong within 20 "
        "steps of resuming from it; using the next older one");
  end_demotion(h);
}

TEST_CASE("without an agent that could mark it, that is reported and the run goes on") {
  Harness h = resumed(spec_of(1));
  h.tell_exit(says(1, 0, "my own bug"));
  h.lose(0);
  h.lose(1);
  CHECK(h.all<DemoteCheckpoint>().empty());
  CHECK(h.text(Rule::kCheckpointKept)
            .ends_with("but there is no agent to mark it, so it may be used again"));
}

TEST_CASE(
    "workers that save by themselves may do so when the run ends, not when a rank has failed") {
  const auto saves_first = [](const Harness& h) {
    const auto stops = h.all<StopWorkers>();
    REQUIRE(!stops.empty());
    return stops.front().save_first;
  };
  Harness h = resumed();
  SUBCASE("a signal; a second one is in a hurry") {
    h.tell(SignalReceived{SIGTERM, false});
    CHECK(saves_first(h));
    h.tell(SignalReceived{SIGTERM, false});
    CHECK_FALSE(saves_first(h));
  }
  SUBCASE("preempted") {
    SignalReceived received{SIGTERM, false};
    received.cause = SignalReceived::Cause::kPreempted;
    h.tell(received);
    CHECK(saves_first(h));
    CHECK(h.all<StopWorkers>().front().reason == StopReason::kPreempt);
    h.tell(SupervisorResumed{2, "other", 7, {}, {}});
    CHECK(saves_first(h));  // the order is the same
  }
  SUBCASE("the goal is reached, and then the user cannot wait") {
    h.tell(StepGoalReached{h.job.attempt(), 100});
    CHECK(saves_first(h));
    h.tell(SignalReceived{SIGTERM, false});
    CHECK_FALSE(saves_first(h));
  }
  SUBCASE("a rank has failed") {
    h.tell_exit(says(1, 0, "my own bug"));
    CHECK_FALSE(saves_first(h));
    h.tell(SignalReceived{SIGTERM, false});
    CHECK_FALSE(saves_first(h));
  }
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_checkpoint_test
