#include "supervisor/core/status/run_totals.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "supervisor/core/report/facts.h"
#include "supervisor/core/report/time/fold.h"
#include "supervisor/core/types/limits.h"
#include "tests/supervisor/report_scenarios.h"

namespace robustrun::supervisor::run_totals_test {
namespace {

using namespace scenarios;
using namespace std::chrono_literals;

RunTotals totals_of(const Story& story) {
  TotalsFold fold;
  for (const JournalEntry& entry : story.entries) fold.take(entry);
  return fold.totals();
}

using Counts = std::array<std::uint64_t, kWorkerStages>;

Story grouped() {
  Story story;
  story.run({{"alpha", "10.0.0.1", 2}, {"beta", "10.0.0.2", 1}});
  story.group(
      1, 0,
      {{base::NodeId{0}, "alpha", "10.0.0.1", 0, 2}, {base::NodeId{1}, "beta", "10.0.0.2", 2, 1}});
  return story;
}

TEST_CASE("workers are counted by their state, in the attempt that goes on") {
  Story story = grouped();
  CHECK(totals_of(story).workers == Counts{3, 0, 0, 0, 0});
  story.start(4, 0, 2);
  CHECK(totals_of(story).workers == Counts{1, 2, 0, 0, 0});
  story.event(9, exited(0, 0, ExitStatus::Kind::kExited, 0, 9));
  story.event(10, exited(0, 1, ExitStatus::Kind::kSignaled, 9, 10));
  WorkerExited stopped = exited(0, 2, ExitStatus::Kind::kSignaled, 15, 11);
  stopped.stopped_by_us = true;
  story.event(11, stopped);
  CHECK(totals_of(story).workers == Counts{0, 0, 1, 1, 1});
  story.event(20, PortReserved{Attempt{1}, 29411, ""});
  CHECK(totals_of(story).workers == Counts{3, 0, 0, 0, 0});
  // Late, of the attempt before, and of a rank that there is not.
  story.event(21, exited(0, 0, ExitStatus::Kind::kExited, 1, 21));
  story.event(22, exited(1, 99, ExitStatus::Kind::kExited, 1, 22));
  CHECK(totals_of(story).workers == Counts{3, 0, 0, 0, 0});
}

TEST_CASE("a restart counts for what was first, and a mismatch explains it better") {
  Story story = grouped();
  story.decide(5, Rule::kAgentLost, 0, "lost").decide(6, Rule::kWorkerFailed, 0, "too");
  story.decide(7, Rule::kRestart, 0, "again");
  story.decide(8, Rule::kWorkerFailed, 1, "failed").decide(9, Rule::kMismatch, 1, "differently");
  story.decide(10, Rule::kRestart, 1, "again").decide(11, Rule::kRestart, 2, "for no reason");
  const RunTotals totals = totals_of(story);
  CHECK(totals.restarts == std::map<Rule, std::uint64_t>{
                               {Rule::kAgentLost, 1}, {Rule::kMismatch, 1}, {Rule::kRestart, 1}});
  CHECK(totals.incidents.at(Rule::kWorkerFailed) == 2);
}

TEST_CASE("hangs, lost agents, drills and supervisors are counted") {
  Story story = grouped();
  story.decide(5, Rule::kHangSuspected, 0, "a").decide(6, Rule::kHangPassed, 0, "b");
  story.decide(7, Rule::kHangSuspected, 0, "c").decide(8, Rule::kHangConvicted, 0, "d");
  story.event(9, AgentLost{"gone", true, {}}).event(10, FaultInjected{});
  SupervisorResumed resumed;
  resumed.incarnation = 3;
  story.event(11, resumed);
  const RunTotals totals = totals_of(story);
  CHECK(totals.hangs_suspected == 2);
  CHECK(totals.hangs_passed == 1);
  CHECK(totals.hangs_convicted == 1);
  CHECK(totals.incidents.at(Rule::kHangConvicted) == 1);
  CHECK(totals.agents_lost == 1);
  CHECK(totals.faults_injected == 1);
  CHECK(totals.supervisors == 3);
}

TEST_CASE("steps of earlier attempts are kept") {
  CHECK(totals_of(clean()).earlier_steps == 0);
  CHECK(totals_of(recovered()).earlier_steps == 121);
}

bool same_time(const TimeReport& a, const TimeReport& b) {
  const auto same = [](const Stretch& one, const Stretch& other) {
    return one.spent == other.spent && one.from == other.from && one.to == other.to;
  };
  return a.ettr == b.ettr && a.ettr_last_hour == b.ettr_last_hour &&
         a.ettr_worst_hour == b.ettr_worst_hour && std::ranges::equal(a.timeline, b.timeline, same);
}

TEST_CASE("the account of time is the report's at every moment of every story") {
  auto stories = all();
  Story hang = grouped();
  hang.start(4, 0, 3).progress(1000, 0, Progress::Mark::kFirstStep, 1000, 1);
  Diagnosed diagnosed;
  diagnosed.verdict.finding = tracer::Finding::kNeverEntered;
  diagnosed.verdict.lasting = 2s;
  hang.event(5000, diagnosed);
  diagnosed.stage = Diagnosed::Stage::kPassed;
  hang.event(6000, diagnosed).progress(7000, 0, Progress::Mark::kSummary, 7000, 50);
  diagnosed.stage = Diagnosed::Stage::kConvicted;
  hang.event(9000, diagnosed).decide(9001, Rule::kHangConvicted, 0, "hangs");
  hang.event(9500, WorkersGone{Attempt{0}, 0, {}, {}}).decide(9501, Rule::kRestart, 0, "again");
  hang.start(9600, 1, 3).progress(4'500'000, 1, Progress::Mark::kFirstStep, 10000, 1);
  hang.event(4'600'000, AgentLost{"a", false, 9s}).event(4'600'500, AgentLost{"b", false, 1s});
  hang.decide(4'601'000, Rule::kAgentLost, 1, "lost");
  stories.emplace_back("hang", hang);
  for (const auto& [name, story] : stories) {
    TimeFold fold;
    std::vector<JournalEntry> prefix;
    for (const JournalEntry& entry : story.entries) {
      fold.take(entry);
      prefix.push_back(entry);
      INFO(name, " ", prefix.size());
      const auto report = fold.report(entry.at);
      REQUIRE(report);
      CHECK(same_time(*report, account_time(gather(prefix), prefix)));
    }
  }
}

TEST_CASE("a run may do any number of steps; of too many incidents the account is given up") {
  Story story = grouped();
  TimeFold fold;
  for (const JournalEntry& entry : story.entries) fold.take(entry);
  Story steps;
  for (std::size_t i = 1; i <= 2 * kTimeEntriesMax; ++i) {
    steps.progress(1000.0 * static_cast<double>(i), 0, Progress::Mark::kSummary, 0, i);
  }
  for (const JournalEntry& entry : steps.entries) fold.take(entry);
  CHECK(fold.report(kStart + 1h).has_value());
  Story incidents;
  for (std::size_t i = 0; i <= kTimeEntriesMax; ++i) {
    incidents.decide(3e7, Rule::kRestart, static_cast<std::uint32_t>(i), "again");
  }
  for (const JournalEntry& entry : incidents.entries) fold.take(entry);
  CHECK_FALSE(fold.report(kStart + 1h).has_value());
}

}  // namespace
}  // namespace robustrun::supervisor::run_totals_test
