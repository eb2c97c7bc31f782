#include "supervisor/core/report/time/account.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "base/core/clock.h"
#include "supervisor/core/report/report.h"
#include "tests/supervisor/report_scenarios.h"

namespace robustrun::supervisor::report_time_test {
namespace {

using namespace scenarios;
using namespace std::chrono_literals;
using Mark = Progress::Mark;

// "starting 2.300 productive 7.700 …" in seconds.
std::string spent(const RunReport& report) {
  std::string text;
  for (const Stretch& stretch : report.time.timeline) {
    const double seconds = std::chrono::duration<double>(stretch.to - stretch.from).count();
    text += fmt::format("{}{} {:.3f}", text.empty() ? "" : " ", to_string(stretch.spent), seconds);
  }
  return text;
}

std::string spent(const Story& story) { return spent(build_report(story.entries)); }

// Trains from 1 s on.
Story begun() {
  Story story;
  story.run({{"node0", "127.0.0.1", 2}}).start(4, 0, 2);
  story.progress(1000, 0, Mark::kFirstStep, 1000, 1);
  return story;
}

Diagnosed diagnosed(Diagnosed::Stage stage, base::Nanos lasting,
                    tracer::Finding finding = tracer::Finding::kNeverEntered) {
  Diagnosed body;
  body.stage = stage;
  body.verdict.finding = finding;
  body.verdict.lasting = lasting;
  return body;
}

TEST_CASE("a clean run starts, and is productive to its end") {
  CHECK(spent(clean()) == "starting 2.300 productive 189.711");
  CHECK(build_report(clean().entries).time.ettr == doctest::Approx(189.711 / 192.011));
}

TEST_CASE("a failure costs its detection, the restart, and what is computed again") {
  CHECK(spent(recovered()) ==
        "starting 2.300 productive 7.700 detecting 0.000 restarting 2.395 recomputing 1.600 "
        "productive 10.105");
}

TEST_CASE("a check between two attempts counts as localizing the fault") {
  Story story = begun();
  story.event(10000, exited(0, 0, ExitStatus::Kind::kExited, 1, 10000));
  story.decide(10000, Rule::kWorkerFailed, 0, "").decide(10000, Rule::kStopTimeCheck, 0, "");
  story.decide(10000, Rule::kRestart, 0, "").decide(13000, Rule::kPreflight, 1, "");
  story.start(13010, 1, 2).progress(15000, 1, Mark::kFirstStep, 15000, 1);
  story.finish(20000, 0);
  CHECK(spent(story) ==
        "starting 1.000 productive 9.000 localizing 3.000 restarting 2.000 productive 5.000");
}

TEST_CASE("an attempt that fails before all is recomputed has produced nothing") {
  Story story;
  story.run({{"node0", "127.0.0.1", 1}}).start(4, 0, 1);
  story.progress(1000, 0, Mark::kFirstStep, 1000, 1, 0);
  story.progress(9000, 0, Mark::kSummary, 9000, 80, 79);
  story.event(10000, exited(0, 0, ExitStatus::Kind::kExited, 1, 10000));
  story.decide(10000, Rule::kWorkerFailed, 0, "").decide(10001, Rule::kRestart, 0, "");
  story.start(10002, 1, 1).progress(12000, 1, Mark::kFirstStep, 12000, 1, 40);
  story.progress(14000, 1, Mark::kSummary, 14000, 30, 69);
  story.event(15000, exited(1, 0, ExitStatus::Kind::kExited, 1, 15000));
  story.decide(15000, Rule::kWorkerFailed, 1, "").decide(15000, Rule::kCrashLoop, 1, "");
  story.finish(15500, 95);
  CHECK(spent(story) ==
        "starting 1.000 productive 9.000 restarting 2.000 recomputing 3.000 ending 0.500");
}

TEST_CASE("a hang is unproductive from its beginning, not from when it was noticed") {
  Story story = begun();
  story.event(23000, diagnosed(Diagnosed::Stage::kSuspected, 3s));
  story.event(40000, diagnosed(Diagnosed::Stage::kConvicted, 20s));
  story.decide(40000, Rule::kHangConvicted, 0, "").decide(40100, Rule::kRestart, 0, "");
  story.start(40200, 1, 2).progress(42000, 1, Mark::kFirstStep, 42000, 1);
  story.finish(50000, 0);
  CHECK(spent(story) ==
        "starting 1.000 productive 19.000 detecting 3.000 localizing 17.000 restarting 2.000 "
        "productive 8.000");
}

TEST_CASE("a hang that resolved itself was a stall; mere slowness was not") {
  Story story = begun();
  story.event(23000, diagnosed(Diagnosed::Stage::kSuspected, 3s));
  story.event(30000, diagnosed(Diagnosed::Stage::kPassed, 3s));
  story.event(35000, diagnosed(Diagnosed::Stage::kSuspected, 9s, tracer::Finding::kSlowRank));
  story.finish(50000, 0);
  CHECK(spent(story) == "starting 1.000 productive 19.000 stalled 10.000 productive 20.000");
}

TEST_CASE("a hang that is still open when the run ends, or when something fails, was no training") {
  Story hanging = begun();
  hanging.progress(19000, 0, Mark::kSummary, 18000, 100);
  hanging.event(23000, diagnosed(Diagnosed::Stage::kSuspected, 3s));
  Story stopped = hanging;
  stopped.decide(35000, Rule::kSignal, 0, "SIGTERM ends the run").finish(36000, 143);
  CHECK(spent(stopped) == "starting 1.000 productive 19.000 stalled 15.000 ending 1.000");
  Story failed_in_it = hanging;
  failed_in_it.event(35000, exited(0, 1, ExitStatus::Kind::kExited, 1, 35000));
  failed_in_it.decide(35000, Rule::kWorkerFailed, 0, "")
      .decide(35000, Rule::kBudgetExhausted, 0, "")
      .finish(36000, 1);
  CHECK(spent(failed_in_it) == "starting 1.000 productive 19.000 stalled 15.000 ending 1.000");
  Story still_running = hanging;
  still_running.event(41000, TimerFired{});
  CHECK(spent(still_running) == "starting 1.000 productive 19.000 stalled 21.000");
}

TEST_CASE("a hang that came right unseen ends when its next steps began") {
  Story story = begun();
  story.progress(19000, 0, Mark::kSummary, 19000, 181);  // a step in 0.1 s
  Diagnosed hang = diagnosed(Diagnosed::Stage::kSuspected, 3s);
  SUBCASE("the pace is that of the readings before it") {
    story.event(23000, hang);
    story.progress(30000, 0, Mark::kSummary, 29500, 201).finish(30000, 0);
    // Ten of the twenty steps were done before the hang.
    CHECK(spent(story) == "starting 1.000 productive 19.000 stalled 8.500 productive 1.500");
  }
  SUBCASE("the pace came with the report") {
    hang.period = 200ms;
    story.event(23000, hang);
    story.progress(30000, 0, Mark::kSummary, 29500, 196).finish(30000, 0);
    CHECK(spent(story) == "starting 1.000 productive 19.000 stalled 7.500 productive 2.500");
  }
  SUBCASE("it lasted until it was reported at least") {
    story.event(23000, hang);
    story.progress(30000, 0, Mark::kSummary, 29500, 500).finish(30000, 0);
    CHECK(spent(story) == "starting 1.000 productive 19.000 stalled 3.000 productive 7.000");
  }
  SUBCASE("only the first step after it counts") {
    story.event(23000, hang);
    story.progress(27000, 0, Mark::kSummary, 26500, 192);
    story.progress(30000, 0, Mark::kSummary, 29500, 222).finish(30000, 0);
    CHECK(spent(story) == "starting 1.000 productive 19.000 stalled 6.400 productive 3.600");
  }
}

TEST_CASE("a hang that came right unseen, at an unknown pace, ends when it was last seen") {
  Story story = begun();
  story.event(23000, diagnosed(Diagnosed::Stage::kSuspected, 3s));
  story.progress(30000, 0, Mark::kSummary, 29500, 101).finish(30000, 0);
  CHECK(spent(story) == "starting 1.000 productive 19.000 stalled 3.000 productive 7.000");
}

TEST_CASE("a hang in which one rank went on by itself lasts to the end") {
  Story story = begun();
  story.progress(19000, 0, Mark::kSummary, 18000, 100);
  story.event(23000, diagnosed(Diagnosed::Stage::kSuspected, 3s));
  story.progress(30000, 0, Mark::kSummary, 29500, 100).finish(30000, 0);
  CHECK(spent(story) == "starting 1.000 productive 19.000 stalled 10.000");
}

TEST_CASE("in a run without steps the productive time is unknown") {
  Story story;
  story.run({{"node0", "127.0.0.1", 2}}).start(4, 0, 2);
  story.progress(1000, 0, Mark::kUserCode, 1000, 0).finish(5000, 0);
  CHECK(spent(story) == "starting 1.000 running 4.000");
  const TimeReport time = build_report(story.entries).time;
  CHECK_FALSE(time.ettr);
  CHECK(time_words(time) == "productive: unknown (no steps); starting 1.00 s, running 4.00 s");
  Story long_one;
  long_one.run({{"node0", "127.0.0.1", 2}}).start(4, 0, 2);
  long_one.progress(1000, 0, Mark::kUserCode, 1000, 0).finish(7'200'000, 0);
  CHECK_FALSE(build_report(long_one.entries).time.ettr_worst_hour);
}

TEST_CASE("a lost agent was lost when it fell silent") {
  Story story = begun();
  story.event(30000, AgentLost{"it has said nothing for 10 s", false, 10s});
  story.decide(30000, Rule::kAgentLost, 0, "").decide(30000, Rule::kRestart, 0, "");
  story.start(31000, 1, 2).progress(33000, 1, Mark::kFirstStep, 33000, 1);
  story.finish(43000, 0);
  CHECK(spent(story) ==
        "starting 1.000 productive 19.000 detecting 10.000 restarting 3.000 productive 10.000");
}

TEST_CASE("a run that is stopped produces until then, one that fails until it fails") {
  Story stopped = begun();
  stopped.decide(20000, Rule::kSignal, 0, "SIGTERM ends the run").finish(22000, 143);
  CHECK(spent(stopped) == "starting 1.000 productive 19.000 ending 2.000");
  Story failed_once = begun();
  failed_once.event(20000, exited(0, 1, ExitStatus::Kind::kExited, 1, 20000));
  failed_once.decide(20000, Rule::kWorkerFailed, 0, "")
      .decide(20500, Rule::kBudgetExhausted, 0, "")
      .finish(21000, 1);
  CHECK(spent(failed_once) == "starting 1.000 productive 19.000 ending 1.000");
}

TEST_CASE("a journal that just stops, or has nothing") {
  Story story = begun();
  story.progress(9000, 0, Mark::kSummary, 9000, 80);
  CHECK(spent(story) == "starting 1.000 productive 8.000");
  CHECK_FALSE(build_report({}).time.ettr);
  CHECK(build_report({}).time.timeline.empty());
  Story only_start;
  only_start.run({{"node0", "127.0.0.1", 2}}).event(500, AgentJoined{4200, {}, 0});
  CHECK(spent(only_start) == "starting 0.500");
}

TEST_CASE("hours: the last one, and the worst wherever it lies") {
  constexpr double kMinute = 60000;
  Story story = begun();
  CHECK_FALSE(build_report(Story(story).finish(3599999, 0).entries).time.ettr_worst_hour);
  story.event(100 * kMinute, exited(0, 0, ExitStatus::Kind::kExited, 1, 100 * kMinute));
  story.decide(100 * kMinute, Rule::kWorkerFailed, 0, "")
      .decide(100 * kMinute, Rule::kRestart, 0, "");
  story.start(101 * kMinute, 1, 2);
  story.progress(115 * kMinute, 1, Mark::kFirstStep, 115 * kMinute, 1);
  story.finish(180 * kMinute, 0);
  const TimeReport time = build_report(story.entries).time;
  CHECK(time.ettr == doctest::Approx((180 * 60 - 1 - 15 * 60) / (180.0 * 60)));
  REQUIRE(time.ettr_worst_hour);
  CHECK(*time.ettr_worst_hour == doctest::Approx(0.75));
  CHECK(*time.ettr_last_hour == doctest::Approx(1));
  CHECK(time_words(time) ==
        "91.7 % productive; starting 1.00 s, restarting 15 min 00 s; the worst hour 75.0 %, the "
        "last one 100.0 %");
}

// Any order, any times: what a journal holds is outside input.
std::vector<JournalEntry> anything(base::Rng& dice) {
  Story story;
  const auto at = [&] { return static_cast<double>(dice.below(20'000'000)) - 1000; };
  const auto attempt = [&] { return static_cast<std::uint32_t>(dice.below(4)); };
  if (dice.below(10) > 0) story.run({{"node0", "127.0.0.1", 2}});
  for (std::uint64_t i = dice.below(60); i > 0; --i) {
    switch (dice.below(9)) {
      case 0: story.start(at(), attempt(), 2); break;
      case 1:
        story.progress(at(), attempt(), static_cast<Mark>(dice.below(4)), at(), dice.below(100),
                       static_cast<std::int64_t>(dice.below(100)));
        break;
      case 2: story.event(at(), exited(attempt(), 0, ExitStatus::Kind::kExited, 1, at())); break;
      case 3: {
        Diagnosed body = diagnosed(static_cast<Diagnosed::Stage>(dice.below(5)),
                                   base::Nanos(static_cast<std::int64_t>(dice.next() >> 1)));
        body.attempt = {attempt()};
        story.event(at(), body);
        break;
      }
      case 4: story.decide(at(), static_cast<Rule>(dice.below(30)), attempt(), "a decision"); break;
      case 5: story.event(at(), AgentLost{"gone", true, ms(at())}); break;
      case 6:
        story.event(at(), AgentJoined{10, {}, 0}, static_cast<std::uint32_t>(dice.below(3)));
        break;
      case 7: {
        Progress body;
        body.attempt = {attempt()};
        body.mark = static_cast<Mark>(dice.below(4));
        body.reached_at = base::Nanos(static_cast<std::int64_t>(dice.next()));
        for (std::uint32_t node = 0; node < 3; ++node) {
          body.nodes.push_back({{node}, base::Nanos(static_cast<std::int64_t>(dice.next()))});
        }
        story.event(at(), body);
        break;
      }
      default: story.event(at(), WorkersGone{Attempt{attempt()}, 0, {}, {}}); break;
    }
  }
  if (dice.below(3) > 0) story.finish(at(), static_cast<int>(dice.below(3)));
  return story.entries;
}

TEST_CASE("of any journal the parts add up to the whole, ratios and costs are in their bounds") {
  const std::uint64_t seed = base::system_seed();
  CAPTURE(seed);
  base::Rng dice(seed);
  for (int round = 0; round < 3000; ++round) {
    const RunReport report = build_report(anything(dice));
    CAPTURE(round);
    base::Nanos sum{};
    for (const TimeShare& share : report.time.shares) sum += share.duration;
    REQUIRE(sum == report.duration);
    base::Nanos last{};
    for (const Stretch& stretch : report.time.timeline) {
      REQUIRE(stretch.from == last);
      REQUIRE(stretch.from < stretch.to);
      last = stretch.to;
    }
    REQUIRE(last == report.duration);
    for (const auto& ratio :
         {report.time.ettr, report.time.ettr_last_hour, report.time.ettr_worst_hour}) {
      REQUIRE(ratio.value_or(0) >= 0);
      REQUIRE(ratio.value_or(0) <= 1);
    }
    for (const PhaseCost& cost : report.costs) {
      REQUIRE(cost.samples > 0);
      REQUIRE(base::Nanos{} <= cost.median);
      REQUIRE(cost.median <= cost.max);
    }
    if (report.time.ettr_worst_hour) {
      REQUIRE(*report.time.ettr_worst_hour <= *report.time.ettr_last_hour);
    }
  }
}

}  // namespace
}  // namespace robustrun::supervisor::report_time_test
