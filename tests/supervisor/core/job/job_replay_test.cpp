// Replay as a step of the policy, and alarms that end an attempt: the core alone.
#include <doctest/doctest.h>

#include "supervisor/core/types/limits.h"
#include "tests/supervisor/job_harness.h"
#include "tests/supervisor/policy_words.h"

namespace robustrun::supervisor::test::job_replay_test {
namespace {

using Outcome = GroupReplayed::Outcome;

const GroupReplayed kPassed{Outcome::kPassed, {}, {}};
const GroupReplayed kFailed{Outcome::kFailed, {}, "rank 1: exit code 3"};

// Rank 0 of the attempt says a line that calls for a replay, and everything stops.
Harness replaying(std::size_t nodes, std::uint32_t min, std::uint32_t max, bool own = true) {
  JobSpec spec = policy_spec(std::vector<std::uint32_t>(nodes, 1), min, max);
  spec.restart.max_restarts = 10;
  spec.replays_own_program = own;
  Harness h(spec);
  h.run();
  h.first_step();
  h.tell_exit(says(0, 0, "drifts"));
  h.all_gone();
  return h;
}

ReplayNodes order(const Harness& h) {
  const auto orders = h.all<ReplayNodes>();
  REQUIRE(orders.size() == 1);
  return orders[0];
}

std::vector<std::vector<std::uint32_t>> groups(const ReplayNodes& replay) {
  std::vector<std::vector<std::uint32_t>> all;
  for (const auto& group : replay.groups) {
    std::vector<std::uint32_t>& nodes = all.emplace_back();
    for (const auto& place : group) nodes.push_back(place.node.value);
  }
  return all;
}

// Groups with the node fail, until it is over.
void answer(Harness& h, std::uint32_t faulty) {
  while (h.job.state() == JobState::kReplaying) {
    const ReplayNodes replay = order(h);
    NodesReplayed result{replay.replay, {}, {}};
    for (const auto& nodes : groups(replay)) {
      const bool fails = std::ranges::find(nodes, faulty) != nodes.end();
      result.groups.push_back(fails ? kFailed : kPassed);
    }
    h.tell(result);
  }
}

TEST_CASE("the step is reported, and the group's nodes are replayed before the next start") {
  Harness h = replaying(5, 4, 4);
  CHECK(h.text(Rule::kReplay) ==
        "the cause is not clear (it is drifts): groups of nodes run the replay command before "
        "the next start");
  REQUIRE(h.job.state() == JobState::kReplaying);
  CHECK(groups(order(h)) == std::vector<std::vector<std::uint32_t>>{{0, 1}, {2, 3}});
  CHECK(order(h).groups[1][0].address == "10.0.0.2");
  CHECK(order(h).groups[1][0].slots == 1);
  CHECK(order(h).limit == std::chrono::minutes(10));
  h.tell(NodesReplayed{1, {}, {kPassed, kFailed}});
  REQUIRE(h.job.state() == JobState::kReplaying);
  CHECK(groups(order(h)) == std::vector<std::vector<std::uint32_t>>{{0, 2}, {1, 3}});
  CHECK(order(h).replay == 2);
}

TEST_CASE("a node that fails in both phases is evicted, and a spare takes its place") {
  Harness h = replaying(5, 4, 4);
  answer(h, 2);
  CHECK(h.text(Rule::kReplayed) == "the replay: node2 is in the groups that failed in both phases");
  CHECK(h.evidence(Rule::kReplayed) ==
        std::vector<std::string>{"group H1: rank 1: exit code 3", "group V0: rank 1: exit code 3"});
  CHECK(h.text(Rule::kNodeEvicted) == "node2 is evicted: it fails in a dual-phase replay");
  CHECK(h.job.state() == JobState::kReserving);
  CHECK(h.group == std::vector<std::uint32_t>{0, 1, 4, 3});
}

TEST_CASE("without a spare the group shrinks if it may; else the run goes on and says so") {
  Harness smaller = replaying(4, 3, 4);
  answer(smaller, 1);
  CHECK(smaller.decided(Rule::kNodeEvicted));
  CHECK(smaller.group == std::vector<std::uint32_t>{0, 2, 3});
  Harness whole = replaying(4, 4, 4);
  answer(whole, 1);
  CHECK_FALSE(whole.decided(Rule::kNodeEvicted));
  CHECK(whole.job.state() == JobState::kReserving);
  const auto decisions = whole.all<Decision>();
  const auto found = std::ranges::find(decisions, Rule::kReplayed, &Decision::rule);
  REQUIRE(found != decisions.end());
  CHECK(found->alternatives ==
        std::vector<std::string>{"evict: 3 other machines are there, and 4 are needed"});
}

TEST_CASE("a replay that shows nothing is done once; the next rung follows") {
  Harness h = replaying(2, 2, 2);
  answer(h, 99);
  CHECK(h.job.state() == JobState::kReserving);
  h.begin();
  h.first_step();
  h.tell_exit(says(1, 0, "drifts"));
  h.all_gone();
  CHECK_FALSE(h.decided(Rule::kReplay));
  if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
  REQUIRE(h.job.state() == JobState::kReserving);
  h.begin();
  h.tell_exit(says(2, 0, "drifts"));
  h.all_gone();
  CHECK(h.decided(Rule::kBudgetExhausted));  // gives up
  CHECK(h.job.state() == JobState::kFinished);
}

TEST_CASE("one machine is passed over, with the reason") {
  Harness h = replaying(1, 1, 1);
  CHECK(h.job.state() != JobState::kReplaying);
  const auto decisions = h.all<Decision>();
  const auto found = std::ranges::find(decisions, Rule::kRestart, &Decision::rule);
  REQUIRE(found != decisions.end());
  CHECK(found->alternatives[0] == "replay: there is no other machine to compare with");
}

TEST_CASE("what has become too small by the time is not replayed") {
  JobSpec spec = policy_spec({1, 1}, 1, 2);
  spec.restart.max_restarts = 10;
  Harness h(spec);
  h.run();
  h.tell_exit(says(0, 0, "drifts"));
  h.gone(0);
  h.lose(1, "no power", false);
  if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
  while (h.job.state() == JobState::kJoining) h.fire(TimerId::kState);
  CHECK(h.text(Rule::kReplayed) ==
        "the replay cannot be done: there is no other machine to compare with");
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("an answer to another wave is ignored, one that never comes has a deadline") {
  Harness h = replaying(4, 4, 4);
  const std::uint64_t before = h.job.digest();
  h.tell(NodesReplayed{7, {}, {kFailed, kPassed}});
  CHECK(h.actions.empty());
  CHECK(h.job.digest() == before);
  CHECK(h.timers[0].at == h.now + std::chrono::minutes(10) + kReplayMargin);
  h.fire(TimerId::kState);
  CHECK(h.text(Rule::kReplayed) == "the replay did not end within 630 s; it has no result");
  CHECK(order(h).groups.empty());  // what is left of it is ended
  CHECK(h.job.state() == JobState::kReserving);
  h.tell(NodesReplayed{1, {}, {kFailed, kPassed}});
  CHECK(h.actions.empty());
}

TEST_CASE("a machine that is lost meanwhile is not waited for, and cannot be evicted any more") {
  Harness h = replaying(5, 4, 4);
  h.tell(NodesReplayed{1, {}, {kPassed, kFailed}});
  h.lose(2, "no power", false);
  CHECK(h.job.state() == JobState::kReplaying);
  h.tell(NodesReplayed{2, {}, {kFailed, kPassed}});
  CHECK(h.text(Rule::kReplayed) == "the replay: node2 is in the groups that failed in both phases");
  CHECK_FALSE(h.decided(Rule::kNodeEvicted));
  CHECK(h.job.state() != JobState::kReplaying);
}

TEST_CASE("a supervisor that takes over has the wave replayed again") {
  Harness h = replaying(4, 4, 4);
  h.tell(SupervisorResumed{2, "other", 7, {}, {}});
  CHECK(h.job.state() == JobState::kReplaying);
  CHECK(order(h).replay == 2);
  CHECK(groups(order(h)) == std::vector<std::vector<std::uint32_t>>{{0, 1}, {2, 3}});
  h.tell(NodesReplayed{1, {}, {kFailed, kPassed}});
  CHECK(h.actions.empty());
  h.tell(NodesReplayed{2, {}, {kPassed, kPassed}});
  CHECK(h.decided(Rule::kReplayed));
}

TEST_CASE("a signal ends the run in the middle of a replay") {
  Harness h = replaying(4, 4, 4);
  h.tell(SignalReceived{15, false});
  CHECK(h.job.state() == JobState::kFinished);
  CHECK(h.all<DismissAgent>().size() == 4);
}

TEST_CASE("several that are found are tested beside the run, and come back if they are fit") {
  Harness h = replaying(6, 4, 4, false);
  const GroupReplayed named{Outcome::kFailed, {{0}, {1}}, "exit code 10"};
  h.tell(NodesReplayed{1, {}, {named, kPassed}});
  CHECK(h.text(Rule::kReplayed) ==
        "the replay: node0 and node1 compute other bits than the others");
  CHECK(h.decided(Rule::kNodeEvicted));
  REQUIRE(h.all<CheckNodes>().size() == 1);
  CHECK(h.all<CheckNodes>()[0].nodes.size() == 2);
}

// Alarms.

MetricAlarm nan(const Harness& h) {
  return {h.job.attempt(), "loss", MetricAlarm::Kind::kNotANumber, 0, 2, 3, false};
}

JobSpec alarmed(bool acts, std::uint32_t times = 4, std::uint32_t restarts = 10) {
  JobSpec spec = policy_spec({1, 1}, 2, 2);
  FaultRow row = row_of("unused", Layer::kUnclear, Confidence::kMedium, FirstAction::kReplay);
  row.texts.clear();
  row.name = "not a number";
  row.found = {"not a number"};
  spec.faults.push_back(row);
  spec.policy.acts_on_nan = acts;
  spec.policy.alarms_acted_on = times;
  spec.policy.ladders.back().rungs = {{Step::kReplay, 1}, {Step::kRestart, 0}};
  spec.restart.max_restarts = restarts;
  return spec;
}

TEST_CASE("an alarm ends the attempt where the policy says so, and leads to a replay") {
  Harness h(alarmed(true));
  h.run();
  h.first_step();
  h.tell(nan(h));
  CHECK(h.job.state() == JobState::kStopping);
  CHECK(h.text(Rule::kMetricFault).find("loss is not a number") == 0);
  h.all_gone();
  CHECK(h.decided(Rule::kReplay));
  CHECK(h.decided(Rule::kRestart));
  REQUIRE(h.job.state() == JobState::kReplaying);
  answer(h, 99);
  CHECK(h.job.state() == JobState::kReserving);
}

TEST_CASE("an alarm is only reported by default, and so is its end") {
  Harness h(alarmed(false));
  h.run();
  h.tell(nan(h));
  CHECK(h.job.state() == JobState::kRunning);
  CHECK(h.decided(Rule::kMetricAlarm));
  Harness acting(alarmed(true));
  acting.run();
  MetricAlarm over = nan(acting);
  over.over = true;
  acting.tell(over);
  MetricAlarm slower = nan(acting);
  slower.kind = MetricAlarm::Kind::kSlower;
  acting.tell(slower);
  MetricAlarm jump = nan(acting);
  jump.kind = MetricAlarm::Kind::kJump;
  acting.tell(jump);  // its own key is "say"
  CHECK(acting.job.state() == JobState::kRunning);
}

TEST_CASE("so many alarms end an attempt in a run, whatever its progress; then they are said") {
  Harness h(alarmed(true, 2));
  h.run();
  for (std::uint32_t i = 0; i < 2; ++i) {
    h.first_step();
    h.tell(nan(h));
    REQUIRE(h.job.state() == JobState::kStopping);
    h.all_gone();
    if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
    answer(h, 99);
    h.begin();
    h.now += std::chrono::hours(5);
  }
  h.tell(nan(h));
  CHECK(h.job.state() == JobState::kRunning);
  CHECK(h.all<Decision>()[0].alternatives ==
        std::vector<std::string>{"stop and look for the cause: was done 2 times in this run"});
}

TEST_CASE("an alarm never ends a run: without a restart left it is only reported") {
  Harness h(alarmed(true, 4, 0));
  h.run();
  h.tell(nan(h));
  CHECK(h.job.state() == JobState::kRunning);
  CHECK(h.all<Decision>()[0].alternatives ==
        std::vector<std::string>{"stop and look for the cause: no restart is left"});
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_replay_test
