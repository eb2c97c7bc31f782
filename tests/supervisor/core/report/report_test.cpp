#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>

#include "base/core/clock.h"
#include "supervisor/core/report/child_failed.h"
#include "supervisor/core/report/render.h"
#include "supervisor/core/report/report.h"
#include "supervisor/core/report/words.h"
#include "tests/supervisor/report_scenarios.h"

namespace robustrun::supervisor::report_test {
namespace {

using namespace scenarios;

base::Nanos phase(const Incident& incident, const std::string& name) {
  for (const Phase& one : incident.phases) {
    if (to_string(one.name) == name) return one.duration;
  }
  return base::Nanos(-1);
}

TEST_CASE("a clean run succeeds without incidents") {
  const RunReport report = build_report(clean().entries);
  CHECK(report.outcome == RunOutcome::kSucceeded);
  CHECK(report.exit_code == 0);
  CHECK(report.run_id == "brave-otter-4711");
  CHECK(report.duration == ms(192011));
  CHECK(report.nodes == 1);
  CHECK(report.world_size == 2);
  CHECK(report.attempts == 1);
  CHECK(report.steps == 300);
  CHECK(report.step == 299);
  REQUIRE(report.metrics.size() == 1);
  CHECK(report.metrics[0].value == doctest::Approx(0.042137));
  CHECK(report.incidents.empty());
}

TEST_CASE("an incident names the first failing rank, not those we stopped") {
  const RunReport report = build_report(recovered().entries);
  CHECK(report.outcome == RunOutcome::kSucceeded);
  CHECK(report.attempts == 2);
  REQUIRE(report.incidents.size() == 1);
  const Incident& incident = report.incidents[0];
  CHECK(incident.rank == 1U);
  CHECK(incident.node == "node0");
  CHECK(incident.ended == "SIGKILL");
  CHECK(incident.at == ms(10000));
  CHECK(incident.also_failed.empty());
  CHECK(incident.stderr_tail.size() == 14);
  CHECK(incident.decision ==
        "rank 1 on node0: SIGKILL; stopping the other rank; "
        "restart 1 of 3: starting 2 workers on 1 node again");
  CHECK(incident.evidence == std::vector<std::string>{"rank 1 on node0: SIGKILL"});
  CHECK(incident.alternatives == std::vector<std::string>{"no restart: 0 of 3 used"});
}

TEST_CASE("the phases of a recovery add up to its time") {
  const Incident incident = build_report(recovered().entries).incidents.at(0);
  CHECK(phase(incident, "detect") == ms(0.4));
  CHECK(phase(incident, "stop the others") == ms(12.1));
  CHECK(phase(incident, "back-off") == base::Nanos(-1));
  CHECK(phase(incident, "prepare") == ms(0.3));
  CHECK(phase(incident, "start processes") == ms(2.1));
  CHECK(phase(incident, "interpreter start") == ms(75.1));
  CHECK(phase(incident, "first step") == ms(2305));
  CHECK(phase(incident, "catch up") == ms(1600));
  CHECK(incident.recovery == ms(2395));
  base::Nanos sum{};
  for (const Phase& one : incident.phases) sum += one.duration;
  CHECK(sum == incident.recovery + ms(1600));
}

TEST_CASE("a recovery says how many workers started warm, each counted once") {
  CHECK(build_report(recovered().entries).incidents.at(0).warm == 0);
  Story story = recovered();
  const JournalEntry finish = story.entries.back();
  story.entries.pop_back();
  for (const std::uint32_t rank : {0U, 1U, 1U}) {
    story.event(12399, WorkerStarted{Attempt{1}, Rank{rank}, 4240, true});
  }
  story.entries.push_back(finish);
  CHECK(build_report(story.entries).incidents.at(0).warm == 2);
}

TEST_CASE("a recovery says which workers started cold, and why, each reason once") {
  CHECK(build_report(recovered().entries).incidents.at(0).cold.empty());
  Story story = recovered();
  const JournalEntry finish = story.entries.back();
  story.entries.pop_back();
  for (const std::uint32_t rank : {2U, 1U, 3U}) {
    WorkerStarted started{Attempt{1}, Rank{rank}, 4240};
    started.cold = rank == 2 ? "its standby worker had died" : "its standby worker was importing";
    story.event(12399, started);
  }
  story.entries.push_back(finish);
  const RunReport report = build_report(story.entries);
  CHECK(report.incidents.at(0).cold ==
        std::vector<std::string>{"rank 2: its standby worker had died",
                                 "2 ranks: their standby workers were importing"});
}

// What attempt 0 left half-written is moved before attempt 1; rank 0 reads it first.
Story moved(std::uint32_t attempt) {
  Story story = recovered();
  const CheckpointMoved report{Attempt{attempt}, "out/checkpoint-4",
                               "out/.robustrun-incomplete/checkpoint-4.attempt0",
                               "no trainer_state.json; attempt 0 was writing it"};
  Story extra;
  extra.event(attempt == 0 ? 3 : 10012.7, report);
  const auto later = std::ranges::find_if(
      story.entries, [&](const JournalEntry& entry) { return entry.at > extra.entries[0].at; });
  story.entries.insert(later, extra.entries[0]);
  return story;
}

TEST_CASE("a half-written checkpoint that was moved aside is shown with the failure before it") {
  const RunReport report = build_report(moved(1).entries);
  REQUIRE(report.moved.size() == 1);
  CHECK(report.moved[0].attempt == 1);
  CHECK(report.moved[0].at == ms(10012.7));
  CHECK(report.moved[0].path == "out/checkpoint-4");
  const std::string words =
      "out/checkpoint-4 was half-written (no trainer_state.json; attempt 0 was writing it): moved "
      "to out/.robustrun-incomplete/checkpoint-4.attempt0";
  REQUIRE(report.incidents.size() == 1);
  CHECK(report.incidents[0].moved == std::vector{words});
  for (const Detail detail : {Detail::kShort, Detail::kFull}) {
    const std::string page = render_report(report, {false, 200, detail});
    CHECK(page.find("  moved     " + words + "\n") != std::string::npos);
    CHECK(page.find("was half-written") == page.rfind("was half-written"));
  }
  CHECK(report_json(report).find(R"("moved_to":"out/.robustrun-incomplete)") != std::string::npos);
}

TEST_CASE("one that an earlier run left is shown without a failure") {
  const RunReport report = build_report(moved(0).entries);
  CHECK(report.incidents[0].moved.empty());
  const std::string page = render_report(report, {false, 200, Detail::kShort});
  CHECK(page.find("  moved     out/checkpoint-4 was half-written (") != std::string::npos);
}

TEST_CASE("a run that goes on shows its rate and the time left, one that has ended its average") {
  const auto with_goal = [](Story story) {
    std::get<RunStarted>(std::get<Event>(story.entries[0].what).body).spec.stop_after_steps = 1000;
    return story.entries;
  };
  const RunReport active = build_report(with_goal(unfinished()));
  // 17 steps in 1.6 s, and 880 of 1000 are left.
  CHECK(active.steps_per_second == doctest::Approx(17 / 1.6));
  REQUIRE(active.left);
  CHECK(static_cast<double>(active.left->count()) == doctest::Approx(880 / (17 / 1.6) * 1e9));
  const ReportStyle wide{false, 200, Detail::kShort};
  CHECK(render_report(active, wide).find(" 10.62 steps/s, ETA 1:23, loss") != std::string::npos);
  const RunReport ended = build_report(with_goal(recovered()));
  // 120 steps in 7.69 s, then 196 in 11.595 s.
  CHECK(ended.steps_per_second == doctest::Approx((120 + 196) / (7.69 + 11.595)));
  CHECK_FALSE(ended.left);
  CHECK(render_report(ended, wide).find(" 16.39 steps/s on average, loss") != std::string::npos);
}

TEST_CASE("the rate of an attempt that is over is no rate of a run that goes on") {
  Story story = recovered();
  const auto restarted = std::ranges::find_if(story.entries, [](const JournalEntry& entry) {
    const auto* event = std::get_if<Event>(&entry.what);
    return event != nullptr && std::holds_alternative<WorkersGone>(event->body);
  });
  story.entries.erase(restarted + 1, story.entries.end());
  CHECK_FALSE(build_report(story.entries).steps_per_second);
}

TEST_CASE("steps lost are those done twice") {
  const Incident incident = build_report(recovered().entries).incidents.at(0);
  CHECK(incident.step_before == 120);
  CHECK(incident.step_after == 101);  // the first reading came with the third step
  CHECK(incident.steps_lost == 20);
}

TEST_CASE("steps lost follow the distance of the script's own numbers") {
  Story story = recovered();
  for (JournalEntry& entry : story.entries) {
    auto* event = std::get_if<Event>(&entry.what);
    if (event == nullptr) continue;
    if (auto* body = std::get_if<Progress>(&event->body); body != nullptr && body->step) {
      body->step = *body->step * 10;
    }
  }
  const Incident incident = build_report(story.entries).incidents.at(0);
  CHECK(incident.step_before == 1200);
  CHECK(incident.step_after == 1010);
  CHECK(incident.steps_lost == 200);
}

TEST_CASE("no step is lost when training goes on with the next one") {
  Story story = recovered();
  for (JournalEntry& entry : story.entries) {
    auto* event = std::get_if<Event>(&entry.what);
    if (event == nullptr) continue;
    auto* body = std::get_if<Progress>(&event->body);
    if (body != nullptr && body->step && body->attempt == Attempt{1}) *body->step += 20;
  }
  const Incident incident = build_report(story.entries).incidents.at(0);
  CHECK(incident.step_after == 121);
  CHECK(incident.steps_lost == 0);
}

TEST_CASE("a script that does not tell its step numbers loses an unknown number") {
  Story story = recovered();
  for (JournalEntry& entry : story.entries) {
    auto* event = std::get_if<Event>(&entry.what);
    if (event == nullptr) continue;
    if (auto* body = std::get_if<Progress>(&event->body)) body->step.reset();
  }
  const RunReport report = build_report(story.entries);
  CHECK_FALSE(report.incidents.at(0).steps_lost);
  CHECK(report.steps == 199);
}

TEST_CASE("a failed run keeps every incident, its OOM killer, back-off and the other failures") {
  const RunReport report = build_report(failed().entries);
  CHECK(report.outcome == RunOutcome::kFailed);
  CHECK(report.exit_code == 1);
  CHECK(report.reason == "no restart left: 1 of 1 used");
  CHECK(report.dropped_bytes == 4096);
  REQUIRE(report.incidents.size() == 2);
  const Incident& first = report.incidents[0];
  CHECK(first.node == "beta");
  CHECK(first.ended.find("cgroup's OOM killer") != std::string::npos);
  CHECK(first.also_failed == std::vector<std::string>{"rank 0 on alpha: exit code 1, 29 ms later"});
  CHECK(phase(first, "stop the others") == ms(199.7));
  CHECK(phase(first, "back-off") == ms(1000));
  CHECK(phase(first, "prepare") == ms(1));
  CHECK(report.incidents[1].rank == 1U);
  CHECK(report.incidents[1].phases.empty());
}

TEST_CASE("the worker whose error file is the oldest is the root, whichever was seen first") {
  Story story;
  story.run({{"node0", "127.0.0.1", 2}}).start(4, 0, 2);
  story.event(9000, exited(0, 0, ExitStatus::Kind::kExited, 1, 8999));
  WorkerExited slow = exited(0, 1, ExitStatus::Kind::kExited, 1, 9100);
  slow.error_timestamp_s = 1785578400 + 5;
  story.event(9101, slow);
  CHECK(build_report(story.entries).incidents.at(0).rank == 1U);
  slow.error_timestamp_s = 17;  // before the run: nonsense
  story.entries.pop_back();
  story.event(9101, slow);
  CHECK(build_report(story.entries).incidents.at(0).rank == 0U);
}

TEST_CASE("rank 0 explains a port conflict, whichever worker was seen first") {
  Story story;
  story.run({{"node0", "127.0.0.1", 2}}).start(4, 0, 2);
  story.event(1500, exited(0, 1, ExitStatus::Kind::kExited, 1, 1499));
  story.event(2600, exited(0, 0, ExitStatus::Kind::kExited, 1, 2599));
  CHECK(build_report(story.entries).incidents.at(0).rank == 1U);
  story.decide(2601, Rule::kPortConflict, 0, "MASTER_PORT was taken");
  CHECK(build_report(story.entries).incidents.at(0).rank == 0U);
}

TEST_CASE("a lost agent is an incident of its node, a dismissed agent is not") {
  Story story;
  story.run({{"node0", "127.0.0.1", 2}}).start(4, 0, 2);
  story.event(500, AgentLost{"killed by SIGKILL", true});
  Incident incident = build_report(story.entries).incidents.at(0);
  CHECK_FALSE(incident.rank);
  CHECK(incident.node == "node0");
  CHECK(incident.ended == "its agent was lost: killed by SIGKILL");
  story.decide(500, Rule::kAgentLost, 0, "The agent of node0 was lost");
  story.decide(500, Rule::kRestart, 1, "It is launched again").start(600, 1, 2);
  incident = build_report(story.entries).incidents.at(0);
  CHECK(incident.decision == "The agent of node0 was lost; It is launched again");
  CHECK(phase(incident, "prepare") == ms(100));
  CHECK(phase(incident, "detect") == ms(0));

  Story over = clean();
  over.event(192020, AgentLost{"channel closed", true});
  CHECK(build_report(over.entries).incidents.empty());
}

Story two_machines() {
  Story story;
  story.run({{"alpha", "10.0.0.1", 1}, {"beta", "10.0.0.2", 1}});
  story.event(1, AgentJoined{4300, {}, 0}).event(2, AgentJoined{4301, {}, 0}, 1).start(4, 0, 2);
  return story;
}

TEST_CASE("a lost agent is the cause of the failures around it, if it was found to be") {
  Story story = two_machines();
  story.event(500, exited(0, 0, ExitStatus::Kind::kExited, 1, 499));
  story.event(505, AgentLost{"killed by SIGKILL", true}, 1);
  Story decided = story;
  decided.decide(505, Rule::kAgentLost, 0, "the agent of beta was lost");
  const Incident incident = build_report(decided.entries).incidents.at(0);
  CHECK_FALSE(incident.rank);
  CHECK(incident.node == "beta");
  CHECK(incident.ended == "its agent was lost: killed by SIGKILL");
  CHECK(incident.also_failed ==
        std::vector<std::string>{"rank 0 on alpha: exit code 1, 6 ms earlier"});
  CHECK(incident.at == ms(499));
  // The failure was the cause.
  story.decide(505, Rule::kRestart, 0, "restart 1 of 3");
  CHECK(build_report(story.entries).incidents.at(0).rank == 0U);
}

TEST_CASE("an incident begins with the loss that its failures follow") {
  Story story = two_machines();
  story.event(500, AgentLost{"killed by SIGKILL", true}, 1);
  story.decide(500, Rule::kAgentLost, 0, "the agent of beta was lost");
  story.event(506, exited(0, 0, ExitStatus::Kind::kExited, 1, 505));
  const Incident incident = build_report(story.entries).incidents.at(0);
  CHECK(incident.at == ms(500));
  CHECK(incident.also_failed ==
        std::vector<std::string>{"rank 0 on alpha: exit code 1, 5 ms later"});
}

TEST_CASE("a failure that is older than a loss, and was reported after it, is no part of it") {
  Story story = two_machines();
  story.event(5000, AgentLost{"killed by SIGKILL", true}, 1);
  story.decide(5000, Rule::kAgentLost, 0, "the agent of beta was lost");
  story.event(5100, exited(0, 0, ExitStatus::Kind::kExited, 1, 2000));
  CHECK(build_report(story.entries).incidents.at(0).rank == 0U);
}

TEST_CASE("a run that goes on is not called unfinished, if that is known") {
  Story story;
  story.run({{"node0", "127.0.0.1", 2}}).start(4, 0, 2);
  RunReport report = build_report(story.entries);
  CHECK(headline(report) == "train.py: no end known, 6.1 ms in the journal");
  report.is_active = true;
  CHECK(headline(report) == "train.py is running, for 6.1 ms so far");
  CHECK(why_words(report).empty());
  CHECK(now_words(report) == "`robustrun status` shows its present step");
  report.step = 327;
  report.read_ago = std::chrono::seconds(45);
  CHECK(progress_words(report) == "reached step 327, as of 45 s ago");
}

TEST_CASE("a lost machine's incident names its successor, and where ranks are afterwards") {
  Story story;
  story.run({{"alpha", "10.0.0.1", 2}, {"beta", "10.0.0.2", 2}, {"gamma", "10.0.0.3", 2}});
  story.event(1, AgentJoined{4301, {}, 0}, 1);
  story.group(3, 0, {{{0}, "alpha", "10.0.0.1", 0, 2}, {{1}, "beta", "10.0.0.2", 2, 2}}, {"gamma"});
  story.decide(4, Rule::kStart, 0, "starting 4 workers on 2 nodes").start(5, 0, 4);
  story.event(400, AgentLost{"exit code 9", true}, 2);
  story.decide(400, Rule::kSpareChanged, 0, "gamma: no matter");
  story.event(500, AgentLost{"no power", false}, 1);
  story.decide(500, Rule::kAgentLost, 0, "the agent of beta was lost");
  story.event(510, WorkersGone{Attempt{0}, 0, {}, {}});
  story.decide(510, Rule::kRestart, 0, "restart");
  story.decide(510, Rule::kNodeReplaced, 1, "gamma takes the place of beta (no power)",
               {"beta: no power"});
  story.group(510, 1, {{{0}, "alpha", "10.0.0.1", 0, 2}, {{2}, "gamma", "10.0.0.3", 2, 2}});
  story.start(520, 1, 4);
  const RunReport report = build_report(story.entries);
  CHECK(report.nodes == 2);
  CHECK(report.world_size == 4);
  REQUIRE(report.incidents.size() == 1);
  CHECK(report.incidents[0].node == "beta");
  CHECK(report.incidents[0].ended == "its agent was lost: no power");
  CHECK(report.incidents[0].decision ==
        "the agent of beta was lost; restart; gamma takes the place of beta (no power)");
  CHECK(report.incidents[0].evidence == std::vector<std::string>{"beta: no power"});
  CHECK(phase(report.incidents[0], "stop the others") == ms(10));
}

TEST_CASE("a volunteer's failures are named after it, by the ranks of its group") {
  Story story;
  story.run({}).event(1, NodeOffered{{"zeta", "10.0.0.9", 2, true}}, 0);
  story.event(2, NodeOffered{{"eta", "10.0.0.8", 1, true}}, 1);
  story.group(3, 0, {{{1}, "eta", "10.0.0.8", 0, 1}, {{0}, "zeta", "10.0.0.9", 1, 2}})
      .start(4, 0, 3);
  story.event(500, exited(0, 2, ExitStatus::Kind::kExited, 1, 499), 0);
  story.decide(500, Rule::kWorkerFailed, 0, "rank 2 on zeta: exit code 1");
  story.event(510, WorkersGone{Attempt{0}, 0, {}, {}});
  story.decide(511, Rule::kBudgetExhausted, 0, "no restart").finish(512, 1);
  const RunReport report = build_report(story.entries);
  CHECK(report.nodes == 2);
  CHECK(report.world_size == 3);
  CHECK(report.incidents.at(0).node == "zeta");
  const std::string block = child_failed_block(story.entries);
  CHECK(block.find("zeta") != std::string::npos);
  CHECK(block.find("rank      : 2 (local_rank: 1)") != std::string::npos);
}

TEST_CASE("a group that grows is an incident without a failure") {
  Story story;
  story.run({{"alpha", "10.0.0.1", 1}, {"beta", "10.0.0.2", 1}});
  story.group(3, 0, {{{0}, "alpha", "10.0.0.1", 0, 1}}).start(4, 0, 1);
  story.decide(900, Rule::kGroupGrew, 0,
               "beta is there: the group grows from 1 to 2 nodes; stopping the rank",
               {"beta is there: the group grows from 1 to 2 nodes"});
  WorkerExited stopped = exited(0, 0, ExitStatus::Kind::kSignaled, 15, 905);
  stopped.stopped_by_us = true;
  story.event(906, stopped).event(907, WorkersGone{Attempt{0}, 0, {}, {}});
  story.decide(907, Rule::kRestart, 0, "restart");
  story.group(907, 1, {{{0}, "alpha", "10.0.0.1", 0, 1}, {{1}, "beta", "10.0.0.2", 1, 1}});
  story.start(910, 1, 2);
  const RunReport report = build_report(story.entries);
  REQUIRE(report.incidents.size() == 1);
  CHECK_FALSE(report.incidents[0].rank);
  CHECK(report.incidents[0].decision ==
        "beta is there: the group grows from 1 to 2 nodes; stopping the rank; restart");
  const std::string text = render_report(report, {false, 100, Detail::kShort});
  CHECK(text.find("Incident 1 of 1: the group grows, ") != std::string::npos);
  CHECK(text.find("cause     beta is there: the group grows from 1 to 2 nodes\n") !=
        std::string::npos);
}

TEST_CASE("a deadline without any event is an incident too") {
  Story story;
  story.run({{"node0", "127.0.0.1", 1}}).decide(60000, Rule::kStartFailed, 0, "Too slow");
  const RunReport report = build_report(story.entries);
  REQUIRE(report.incidents.size() == 1);
  CHECK(report.incidents[0].decision == "Too slow");
  CHECK(report.incidents[0].at == ms(60000));
}

TEST_CASE("setbacks before an attempt has workers are incidents of their own") {
  Story story;
  story.run({{"node0", "127.0.0.1", 2}});
  story.event(100, AgentLost{"exit code 1", true});
  story.decide(100, Rule::kAgentLost, 0, "lost; launching it again");
  story.event(200, AgentJoined{4300, {}, 0}).start(300, 0, 2);
  story.event(900, exited(0, 1, ExitStatus::Kind::kExited, 1, 899));
  story.decide(900, Rule::kWorkerFailed, 0, "rank 1 failed");
  story.decide(901, Rule::kRestart, 0, "restart").start(950, 1, 2);
  const RunReport report = build_report(story.entries);
  REQUIRE(report.incidents.size() == 2);
  CHECK_FALSE(report.incidents[0].rank);
  CHECK(report.incidents[0].ended == "could not be started");
  CHECK(report.incidents[0].phases.empty());
  CHECK(report.incidents[1].rank == 1U);
  CHECK(report.incidents[1].decision == "rank 1 failed; restart");
  CHECK_FALSE(report.incidents[1].phases.empty());
}

TEST_CASE("signals and the time limit stop a run; they do not fail it") {
  for (const Rule rule : {Rule::kSignal, Rule::kTimeLimit}) {
    Story story;
    story.run({{"node0", "127.0.0.1", 1}}).start(4, 0, 1);
    story.decide(500, rule, 0, "Stopping").finish(600, 143);
    CHECK(build_report(story.entries).outcome == RunOutcome::kStopped);
    CHECK(build_report(story.entries).reason == "Stopping");
  }
}

TEST_CASE("a signal while a failed run is being stopped does not hide the failure") {
  Story story = failed();
  const JournalEntry finish = story.entries.back();
  story.entries.pop_back();
  story.decide(7001.5, Rule::kSignal, 1, "SIGINT: stopping").entries.push_back(finish);
  CHECK(build_report(story.entries).outcome == RunOutcome::kFailed);
  CHECK_FALSE(child_failed_block(story.entries).empty());
}

TEST_CASE("a journal without an end tells what was known last") {
  const RunReport report = build_report(unfinished().entries);
  CHECK(report.outcome == RunOutcome::kUnfinished);
  CHECK_FALSE(report.exit_code);
  CHECK(report.reason ==
        "The journal has no end: the run is active, or robustrun was killed. Last decision: "
        "restart 1 of 3: starting 2 workers on 1 node again. Last seen: attempt 1 at step 120");
  CHECK(build_report({}).outcome == RunOutcome::kUnfinished);
  CHECK(build_report({}).reason.find("No worker was started") != std::string::npos);
}

TEST_CASE("seen_at of another machine's clock is not trusted") {
  Story story;
  story.run({{"node0", "127.0.0.1", 1}}).start(4, 0, 1);
  WorkerExited dead = exited(0, 0, ExitStatus::Kind::kSignaled, 9, 0);
  dead.seen_at = std::chrono::seconds(5);
  story.event(9000, dead);
  CHECK(build_report(story.entries).incidents.at(0).at == ms(9000));
}

TEST_CASE("any subset of a journal in any order gives a report") {
  const std::uint64_t seed = base::system_seed();
  INFO("seed ", seed);
  base::Rng rng(seed);
  std::vector<JournalEntry> pool;
  for (const auto& [name, story] : all()) {
    pool.insert(pool.end(), story.entries.begin(), story.entries.end());
  }
  for (int round = 0; round < 300; ++round) {
    std::vector<JournalEntry> entries;
    const std::uint64_t count = rng.below(40);
    for (std::uint64_t i = 0; i < count; ++i) {
      JournalEntry entry = pool[rng.below(pool.size())];
      if (rng.below(8) == 0) entry.at = base::Nanos(static_cast<std::int64_t>(rng.next()));
      if (auto* event = std::get_if<Event>(&entry.what)) {
        if (rng.below(8) == 0) event->at = base::Nanos(static_cast<std::int64_t>(rng.next()));
        auto* body = std::get_if<Progress>(&event->body);
        if (body != nullptr && rng.below(8) == 0) {
          body->step = static_cast<std::int64_t>(rng.next());
          body->steps = rng.next();
        }
      }
      entries.push_back(std::move(entry));
    }
    const RunReport report = build_report(entries);
    for (const Detail detail : {Detail::kShort, Detail::kFull}) {
      const ReportStyle style{rng.below(2) == 0, static_cast<int>(rng.below(120)), detail};
      CHECK_FALSE(render_report(report, style).empty());
    }
    CHECK(report_json(report).starts_with("{\"run_id\":"));
    static_cast<void>(child_failed_block(entries));
    static_cast<void>(nested_error_json(entries));
  }
}

}  // namespace
}  // namespace robustrun::supervisor::report_test
