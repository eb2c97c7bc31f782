// Other versions of what a run starts: asked for, used, proven, given up.
#include <doctest/doctest.h>

#include <csignal>

#include "tests/supervisor/job_harness.h"
#include "tests/supervisor/policy_words.h"

namespace robustrun::supervisor::test::job_update_test {
namespace {

using State = Version::State;
using std::chrono::hours;

UpdateRequested update(std::uint32_t version, bool now = false, Nanos within = {}) {
  return {version, {"env A=" + std::to_string(version)}, {}, now, within};
}

// Versions of the start orders of the last event; one for all, or 99.
std::uint32_t started(const Harness& h) {
  const auto orders = h.all<StartWorkers>();
  if (orders.empty()) return 99;
  for (const StartWorkers& order : orders) {
    if (order.version != orders.front().version) return 99;
  }
  return orders.front().version;
}

const Version& version(const Harness& h, std::uint32_t number) {
  return h.job.versions().all.at(number);
}

// Up to the next attempt's start orders, which are the last event's actions.
void next_attempt(Harness& h) {
  h.all_gone();
  if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
  REQUIRE(h.job.state() == JobState::kReserving);
  h.reserve();
}

// Version 0 has done a step and runs.
Harness proven(JobSpec spec = make_spec({1, 1})) {
  Harness h(std::move(spec));
  h.run();
  h.first_step();
  REQUIRE(version(h, 0).state == State::kProven);
  return h;
}

// Version 1 was asked for and runs, without a step so far.
Harness updated(JobSpec spec = make_spec({1, 1})) {
  Harness h = proven(std::move(spec));
  h.tell(update(1, true));
  next_attempt(h);
  REQUIRE(started(h) == 1);
  h.start_all();
  REQUIRE(h.job.state() == JobState::kRunning);
  return h;
}

TEST_CASE("an update waits for the next restart, and is proven by progress") {
  Harness h = proven();
  h.tell(update(1));
  CHECK(h.text(Rule::kUpdated) == "version 1 (env A=1) is used from the next restart on");
  CHECK(h.job.state() == JobState::kRunning);
  CHECK(version(h, 1).state == State::kPending);
  h.tell_exit(exited(0, 0, 1));
  CHECK(h.job.versions().present == 0);
  next_attempt(h);
  CHECK(started(h) == 1);
  CHECK(h.text(Rule::kUpdated) == "attempt 1 has version 1 (env A=1)");
  CHECK(version(h, 1).state == State::kApplied);
  CHECK(version(h, 1).attempt == base::Attempt{1});
  h.start_all();
  h.first_step();
  CHECK(version(h, 1).state == State::kProven);
  // And it stays.
  h.tell_exit(exited(1, 0, 1));
  next_attempt(h);
  CHECK(started(h) == 1);
  CHECK_FALSE(h.decided(Rule::kUpdated));
}

TEST_CASE("an update at once stops the workers for a free restart") {
  JobSpec spec = make_spec({1, 1});
  spec.restart.max_restarts = 0;
  spec.restart.max_infrastructure_restarts = 0;
  for (const bool compat : {false, true}) {
    spec.compat = compat;
    Harness h = proven(spec);
    for (std::uint32_t number = 1; number < 5; ++number) {
      h.tell(update(number, true));
      CHECK(h.job.state() == JobState::kStopping);
      CHECK(h.decided(Rule::kUpdating));
      for (const StopWorkers& stop : h.all<StopWorkers>()) {
        CHECK(stop.reason == StopReason::kRestart);
        CHECK(stop.signal == SIGTERM);
      }
      CHECK(h.all<StopWorkers>().size() == 2);
      h.all_gone();
      CHECK(h.text(Rule::kRestart)
                .starts_with("free restart with version " + std::to_string(number)));
      REQUIRE(h.job.state() == JobState::kReserving);   // without a pause
      h.reserve();
      CHECK(started(h) == number);
      h.start_all();
    }
  }
}

TEST_CASE("an update at once is used wherever the run is") {
  SUBCASE("before the first attempt") {
    Harness h(make_spec({1, 1}));
    h.tell(update(1, true));
    CHECK(h.all<StopWorkers>().empty());
    h.join_all();
    h.tell(update(2, true));
    CHECK(version(h, 1).state == State::kReplaced);
    h.reserve();
    CHECK(started(h) == 2);
    CHECK(h.job.attempt() == base::Attempt{0});
  }
  SUBCASE("while workers start") {
    Harness h(make_spec({1, 1}));
    h.join_all();
    h.reserve();
    h.tell(update(1, true));
    CHECK(h.job.state() == JobState::kStopping);
    next_attempt(h);
    CHECK(started(h) == 1);
  }
  SUBCASE("while they are stopped, though no restart is left") {
    JobSpec spec = make_spec({1, 1});
    spec.restart.max_restarts = 0;
    Harness h = proven(spec);
    h.tell_exit(exited(0, 0, 1));
    h.tell(update(1, true));
    next_attempt(h);
    CHECK(started(h) == 1);
  }
  SUBCASE("in the pause before a restart, which ends") {
    Harness h(make_spec({1, 1}));
    h.run();
    h.tell_exit(exited(0, 0, 1));
    h.recover();
    h.tell_exit(exited(1, 1, 2));
    h.all_gone();
    REQUIRE(h.job.state() == JobState::kBackoff);
    h.tell(update(1));
    REQUIRE(h.job.state() == JobState::kBackoff);
    h.tell(update(2, true));
    REQUIRE(h.job.state() == JobState::kReserving);
    h.reserve();
    CHECK(started(h) == 2);
  }
  SUBCASE("not when the run ends") {
    Harness h = proven();
    h.tell(SignalReceived{SIGTERM, false});
    h.tell(update(1, true));
    CHECK(h.actions.empty());
    h.all_gone();
    CHECK(h.job.state() == JobState::kFinished);
  }
}

TEST_CASE("an update that is not used within its time is used then") {
  Harness h = proven();
  h.tell(update(1, false, hours(2)));
  CHECK(h.text(Rule::kUpdated) ==
        "version 1 (env A=1) is used from the next restart on, in 7200 s at the latest");
  const auto summary = [&](std::uint64_t steps) {
    h.tell(Progress{h.job.attempt(), Progress::Mark::kSummary, h.now, steps, {}, {}, {}});
  };
  h.now += hours(2) - seconds(1);
  summary(2);
  CHECK(h.job.state() == JobState::kRunning);
  h.now += seconds(1);
  summary(3);
  CHECK(h.text(Rule::kUpdating) == "restarting all workers with version 1: its time is over");
  next_attempt(h);
  CHECK(started(h) == 1);
}

TEST_CASE("the time of an update ends also while no step is done") {
  Harness h = proven();
  h.tell(update(1, false, hours(2)));
  const base::Nanos asked = h.now;
  h.fire(TimerId::kUptime);
  CHECK(h.now == asked + hours(2));
  CHECK(h.text(Rule::kUpdating) == "restarting all workers with version 1: its time is over");
}

TEST_CASE("a version whose workers fail before any progress is given up") {
  JobSpec spec = make_spec({1, 1});
  spec.restart.max_restarts = 0;
  Harness h = updated(spec);
  h.tell_exit(exited(1, 0, 1));
  h.all_gone();
  CHECK(h.text(Rule::kRolledBack) ==
        "version 1 is given up: rank 0 on node0: exit code 1; the next attempt has version 0 (as "
        "the run was started) again");
  CHECK(h.evidence(Rule::kRolledBack).size() == 1);
  CHECK(h.text(Rule::kRestart).starts_with("free restart with version 0"));
  CHECK(version(h, 1).state == State::kRolledBack);
  CHECK(version(h, 1).why == "rank 0 on node0: exit code 1");
  REQUIRE(h.job.state() == JobState::kReserving);
  h.reserve();
  CHECK(started(h) == 0);
  // What failed with the good version is the budget's.
  h.start_all();
  h.tell_exit(exited(2, 0, 1));
  h.all_gone();
  CHECK(h.decided(Rule::kBudgetExhausted));
  CHECK(h.exit_code() == 1);
}

TEST_CASE("a version that cannot be started is given up, though nothing would help it") {
  Harness h = proven();
  h.tell(update(1, true));
  next_attempt(h);
  h.tell(WorkerStartFailed{h.job.attempt(), {0}, 2, "no such script"}, 0);
  h.all_gone();
  CHECK(h.decided(Rule::kRolledBack));
  REQUIRE(h.job.state() == JobState::kReserving);
  h.reserve();
  CHECK(started(h) == 0);
}

TEST_CASE("what is not the version's doing does not speak against it") {
  SUBCASE("a lost agent") {
    Harness h = updated();
    h.lose(0);
    h.gone(1);
    CHECK_FALSE(h.decided(Rule::kRolledBack));
    CHECK(version(h, 1).state == State::kApplied);
  }
  SUBCASE("a hang") {
    Harness h = updated();
    Diagnosed hang{h.job.attempt(), Diagnosed::Stage::kConvicted, {}, {}};
    h.tell(hang);
    REQUIRE(h.job.state() == JobState::kStopping);
    h.all_gone();
    CHECK_FALSE(h.decided(Rule::kRolledBack));
  }
  SUBCASE("broken hardware") {
    JobSpec spec = make_spec({1, 1});
    FaultRow gpu;
    gpu.name = "gpu lost";
    gpu.exits = {77};
    gpu.layer = Layer::kInfrastructure;
    gpu.confidence = Confidence::kHigh;
    spec.faults = {gpu};
    Harness h = updated(spec);
    h.tell_exit(exited(1, 0, 77));
    h.all_gone();
    CHECK_FALSE(h.decided(Rule::kRolledBack));
    CHECK(h.decided(Rule::kRestart));
  }
  SUBCASE("a failure after progress") {
    Harness h = updated();
    h.first_step();
    h.tell_exit(exited(1, 0, 1));
    h.all_gone();
    CHECK_FALSE(h.decided(Rule::kRolledBack));
    CHECK(h.text(Rule::kRestart).starts_with("restart 1 of 3"));
  }
  SUBCASE("and it may still fail by itself later") {
    Harness h = updated();
    h.lose(0);
    h.join(0);
    h.recover_without(0);
    h.tell_exit(exited(h.job.attempt().value, 0, 1));
    h.all_gone();
    CHECK(h.decided(Rule::kRolledBack));
  }
}

TEST_CASE("without a version that may work there is nothing to go back to") {
  Harness h(make_spec({1, 1}));
  h.run();
  h.tell_exit(exited(0, 0, 1));   // the first one has never worked
  h.tell(update(1));
  h.recover();
  CHECK(h.job.versions().present == 1);
  h.tell_exit(exited(1, 0, 2));
  h.all_gone();
  CHECK_FALSE(h.decided(Rule::kRolledBack));
  CHECK(h.text(Rule::kRestart).starts_with("restart 2 of 3"));
}

TEST_CASE("one that was never seen is better than one that failed") {
  Harness h(make_spec({1, 1}));
  h.tell(update(1));
  h.run();
  h.tell_exit(exited(0, 0, 1));
  h.all_gone();
  CHECK(h.decided(Rule::kRolledBack));
  h.reserve();
  CHECK(started(h) == 0);
}

TEST_CASE("a newer update beats going back") {
  Harness h = updated();
  h.tell(update(2));
  h.tell_exit(exited(1, 0, 1));
  next_attempt(h);
  CHECK(started(h) == 2);
  CHECK(version(h, 1).state == State::kApplied);
  h.start_all();
  h.tell_exit(exited(2, 0, 1));
  h.all_gone();
  REQUIRE(h.decided(Rule::kRolledBack));
  h.reserve();
  CHECK(started(h) == 0);   // not 1, which failed as well
}

TEST_CASE("a user goes back, and forth") {
  Harness h = updated();
  h.first_step();
  h.tell(update(0, true));
  next_attempt(h);
  CHECK(started(h) == 0);
  CHECK(version(h, 0).state == State::kProven);
  CHECK(version(h, 1).state == State::kProven);
  h.start_all();
  h.tell(update(1));
  h.tell(update(0));
  CHECK(h.text(Rule::kUpdated) ==
        "version 0 (as the run was started) stays: the version requested before is not used");
  h.tell(update(0));
  CHECK(h.actions.empty());
  CHECK(h.job.versions().all.size() == 2);
  // One that was given up can be asked for again, and then counts as new.
  h.tell(update(2, true));
  next_attempt(h);
  h.start_all();
  h.tell_exit(exited(h.job.attempt().value, 0, 1));
  next_attempt(h);
  h.start_all();
  h.tell(update(2, true));
  next_attempt(h);
  CHECK(started(h) == 2);
  CHECK(version(h, 2).state == State::kApplied);
  h.start_all();
  h.first_step();
  CHECK(version(h, 2).state == State::kProven);
}

TEST_CASE("the policy goes back from a version that had worked, too") {
  Harness h = updated(policy_spec({1, 1}, 2, 2));
  h.first_step();
  h.tell_exit(says(1, 0, "wrong"));
  next_attempt(h);
  CHECK(started(h) == 0);
  CHECK(version(h, 1).state == State::kRolledBack);
  CHECK(h.job.versions().older(true) == std::nullopt);
  // There is nothing else that the ladder could go back to.
  h.start_all();
  h.first_step();
  h.tell_exit(says(2, 0, "wrong"));
  h.all_gone();
  CHECK_FALSE(h.decided(Rule::kRolledBack));
  CHECK(h.decided(Rule::kRestart));
}

TEST_CASE("the policy leaves an update alone that waits") {
  Harness h = updated(policy_spec({1, 1}, 2, 2));
  h.first_step();
  h.tell(update(2));
  h.tell_exit(says(1, 0, "wrong"));
  next_attempt(h);
  CHECK(started(h) == 2);
  CHECK(version(h, 1).state == State::kProven);
}

TEST_CASE("a run keeps a bounded number of versions") {
  Harness h(make_spec({1}));
  for (std::uint32_t number = 1; number < 2000; ++number) h.tell(update(number));
  CHECK(h.job.versions().all.size() == 256);
  CHECK(h.actions.empty());
}

TEST_CASE("a supervisor that takes over knows the versions") {
  Harness h = updated();
  h.tell(update(2));
  Job other;
  for (const Event& event : h.journal) other.handle(event);
  CHECK(other.digest() == h.job.digest());
  const std::vector<Action> actions =
      other.handle(Event{h.now, {}, {}, SupervisorResumed{2, "other", 7, {}, {}}});
  std::vector<std::uint32_t> ordered;
  for (const Action& action : actions) {
    const auto* start = std::get_if<StartWorkers>(&action);
    if (start != nullptr) ordered.push_back(start->version);
  }
  CHECK(ordered == std::vector<std::uint32_t>{1, 1});
  CHECK(other.versions().next == 2);
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_update_test
