#include "supervisor/core/status/status.h"

#include "supervisor/core/status/render.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "base/core/text.h"
#include "supervisor/control/json.h"
#include "tests/paths.h"
#include "tests/supervisor/report_scenarios.h"

namespace robustrun::supervisor::status_test {
namespace {

using base::Attempt;
using base::ExitStatus;
using base::Rank;
using scenarios::ms;
using scenarios::Story;

// Two nodes and a spare; beta is lost, the spare takes its place, and beta comes back.
Story replaced() {
  Story story;
  using Mark = Progress::Mark;
  story.run({{"alpha", "10.0.0.1", 2}, {"beta", "10.0.0.2", 2}, {"gamma", "10.0.0.3", 2}});
  for (std::uint32_t node = 0; node < 3; ++node) {
    const auto pid = static_cast<std::int32_t>(4200 + node);
    story.event(3 + node, AgentJoined{pid, "10.0.0." + std::to_string(node + 1), 2}, node);
  }
  const base::NodeId alpha{0};
  const base::NodeId beta{1};
  const base::NodeId gamma{2};
  story.group(6, 0, {{alpha, "alpha", "10.0.0.1", 0, 2}, {beta, "beta", "10.0.0.2", 2, 2}},
              {"gamma"});
  story.decide(6, Rule::kStart, 0, "starting 4 workers on 2 nodes").start(7, 0, 4);
  story.progress(2400, 0, Mark::kFirstStep, 2300, 1, 101, 2.3);
  story.progress(62300, 0, Mark::kSummary, 62300, 301, 401, 0.31);
  story.event(63000, AgentLost{"its machine does not answer", false}, 1);
  story.decide(63000, Rule::kAgentLost, 0,
               "the agent of beta was lost: its machine does not answer",
               {"beta: its machine does not answer"});
  story.event(63100, WorkersGone{Attempt{0}, 0, {}, {}}, 0);
  story.decide(63101, Rule::kNodeReplaced, 0, "gamma takes the place of beta");
  story.decide(63102, Rule::kRestart, 0, "restart 1 of 16: starting 4 workers on 2 nodes again");
  story.group(63103, 1, {{alpha, "alpha", "10.0.0.1", 0, 2}, {gamma, "gamma", "10.0.0.3", 2, 2}});
  story.start(63110, 1, 4);
  story.progress(65000, 1, Mark::kFirstStep, 64900, 1, 302, 0.41);
  return story.progress(75000, 1, Mark::kCaughtUp, 74900, 101, 402, 0.29);
}

RunStatus live(const Story& story) {
  StatusFold fold;
  for (const JournalEntry& entry : story.entries) fold.take(entry);
  RunStatus status = fold.status(story.entries.back().at + ms(400));
  status.supervisor = SupervisorStatus::kAnswers;
  status.state = JobState::kRunning;
  status.host = "login1";
  status.pid = 4100;
  status.nodes[0].heard = ms(12);
  status.nodes[2].heard = ms(820);
  status.run_directory = "/home/ada/robustrun-runs/brave-otter-4711";
  status.console_log = status.run_directory + "/console.log";
  arrange(status);
  return status;
}

struct Picture {
  std::string name;
  RunStatus status;
};

std::vector<Picture> pictures() {
  std::vector<Picture> all;
  all.push_back({"answers", live(replaced())});
  RunStatus silent = status_of_journal(replaced().entries);
  silent.state = JobState::kRunning;   // no journal of a real run: a replay would not get so far
  silent.host = "login1";
  silent.pid = 4100;
  all.push_back({"silent", silent});
  all.push_back({"ended", status_of_journal(scenarios::recovered().entries)});
  all.push_back({"empty", status_of_journal({})});
  return all;
}

std::string content(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST_CASE("a status looks as its golden file") {
  for (const auto& [name, status] : pictures()) {
    CAPTURE(name);
    const std::string path = in_source(fmt::format("tests/golden/status/{}.txt", name));
    const std::string text = render_status(status, false, 90, 100);
    if (std::getenv("RR_UPDATE_GOLDEN") != nullptr) std::ofstream(path) << text;
    CHECK(text == content(path));
  }
}

TEST_CASE("the group's nodes come by node rank, with their ranks; the lost one behind them") {
  const RunStatus status = status_of_journal(replaced().entries);
  REQUIRE(status.nodes.size() == 3);
  CHECK(status.nodes[0].name == "alpha");
  CHECK(status.nodes[1].name == "gamma");
  CHECK(status.nodes[1].node_rank == 1);
  CHECK(status.nodes[1].first_rank == 2);
  CHECK(status.nodes[2].name == "beta");
  CHECK_FALSE(status.nodes[2].node_rank);
  CHECK(status.nodes[2].agent == AgentStatus::kLost);
  CHECK(status.nodes[2].losses == 1);
  CHECK(status.nodes[2].trouble == "its machine does not answer");
  CHECK(status.workers == 4);
}

TEST_CASE("an evicted node that still answers is no spare, until it returns") {
  Story story = replaced();
  const auto decide = [&](double at_ms, Rule rule, std::uint32_t node) {
    Decision decision{rule, Attempt{1}, "", {}, {}};
    decision.nodes = {base::NodeId{node}};
    story.entries.push_back({scenarios::kStart + ms(at_ms), decision});
  };
  story.event(80000, AgentJoined{4205, "10.0.0.2", 2}, 1);
  const auto beta = [&] { return status_of_journal(story.entries).nodes[2]; };
  CHECK(beta().is_spare());
  for (const Rule rule : {Rule::kNodeEvicted, Rule::kNodeDrained}) {
    decide(80001, rule, 1);
    CHECK(beta().evicted);
    CHECK_FALSE(beta().is_spare());
    const RunStatus status = status_of_journal(story.entries);
    CHECK(render_status(status, false, 90, 100).find("evicted") != std::string::npos);
    const auto read = read_status_answer(write_status_answer(status));
    REQUIRE(read);
    CHECK(read->nodes[2].evicted);
    decide(80002, Rule::kNodeReturned, 1);
    CHECK(beta().is_spare());
  }
}

TEST_CASE("a start under way says what its nodes are at, those that take longest first") {
  RunStatus status = live(replaced());
  CHECK(render_status(status, false, 90, 100).find("  start ") == std::string::npos);
  status.nodes[0].stage = "imports";
  status.nodes[0].stage_took = ms(2100);
  status.nodes[0].stage_rank = 1;
  status.nodes[1].stage = "image";
  status.nodes[1].stage_took = ms(12'000);
  const std::string text = render_status(status, false, 90, 100);
  CAPTURE(text);
  CHECK(text.find("gamma: image 12.00 s; alpha: imports 2.10 s (rank 1)") != std::string::npos);
}

TEST_CASE("a take-over is advised only if no supervisor's process is there") {
  RunStatus status = status_of_journal(replaced().entries);
  CHECK(render_status(status, false, 200, 100).find("robustrun resume") != std::string::npos);
  status.is_busy = true;
  const std::string text = render_status(status, false, 200, 100);
  CAPTURE(text);
  CHECK(text.find("busy or stopped") != std::string::npos);
  CHECK(text.find("robustrun resume") == std::string::npos);
}

TEST_CASE("ranks that are missing in init_process_group are told, also over the socket") {
  RunStatus status = live(replaced());
  CHECK(render_status(status, false, 90, 100).find("  waiting ") == std::string::npos);
  status.group_wait = GroupWait{ms(15'000), 3, 1, {{3, "gamma", "imports", ms(17'000)}}};
  const auto read = read_status_answer(write_status_answer(status));
  REQUIRE(read);
  REQUIRE(read->group_wait);
  CHECK(read->group_wait->missing == 1);
  REQUIRE(read->group_wait->ranks.size() == 1);
  CHECK(read->group_wait->ranks[0].stage_took == ms(17'000));
  const std::string text = render_status(*read, false, 90, 100);
  CAPTURE(text);
  CHECK(text.find("in init_process_group for rank 3 (gamma, imports 17.00 s), 15.00 s so far") !=
        std::string::npos);
}

TEST_CASE("a rank that waits for data is told, else the rank that has waited longest") {
  using namespace std::chrono_literals;
  RunStatus status;
  status.supervisor = SupervisorStatus::kAnswers;
  NodeStatus node;
  node.first_rank = 4;
  node.ranks.resize(3);
  for (RankStatus& rank : node.ranks) rank.state = WorkerStage::kRunning;
  status.nodes = {node};
  const auto text = [&] { return render_status(status, false, 200, 8); };
  auto& ranks = status.nodes[0].ranks;
  ranks[1].data_waited = 1s;
  ranks[1].data_waiting = 1s;
  CHECK(text().find("  data ") == std::string::npos);
  CHECK(data_waits_of(status).waited_rank == 5);
  ranks[2].data_waited = 41s;
  CHECK(text().find("rank 6 has waited longest for batches, 41.00 s in all") != std::string::npos);
  ranks[0].data_waiting = 12s;
  ranks[0].data_place = "source web, /data/web-0.bin";
  CHECK(text().find("rank 4 waits for source web, /data/web-0.bin, 12.00 s so far\n") !=
        std::string::npos);
  ranks[1].data_waiting = 2s;
  CHECK(text().find("12.00 s so far, and 1 more\n") != std::string::npos);
  ranks[0].state = WorkerStage::kStopped;  // it waits no more
  CHECK(text().find("rank 5 waits for its next batch, 2.00 s so far\n") != std::string::npos);
  ranks[1].data_skipped = 1;
  CHECK(text().find("2.00 s so far; 1 record skipped\n") != std::string::npos);
}

TEST_CASE("every rank of the attempt is told with its state and process") {
  Story story = replaced();
  story.event(76000, scenarios::exited(1, 3, ExitStatus::Kind::kExited, 1, 75999), 2);
  const RunStatus status = status_of_journal(story.entries);
  REQUIRE(status.nodes[0].ranks.size() == 2);
  REQUIRE(status.nodes[1].ranks.size() == 2);
  CHECK(status.nodes[2].ranks.empty());
  CHECK(status.nodes[0].ranks[0].state == WorkerStage::kRunning);
  CHECK(status.nodes[0].ranks[0].pid > 0);
  CHECK(status.nodes[1].ranks[1].state == WorkerStage::kFailed);
  const auto read = read_status_answer(write_status_answer(status));
  REQUIRE(read);
  REQUIRE(read->nodes[1].ranks.size() == 2);
  CHECK(read->nodes[1].ranks[1].state == WorkerStage::kFailed);
  CHECK(read->nodes[1].ranks[1].pid == status.nodes[1].ranks[1].pid);
}

Diagnosed hang_of(std::uint32_t attempt, Diagnosed::Stage stage) {
  Diagnosed hang{Attempt{attempt}, stage, {}};
  hang.verdict.finding = tracer::Finding::kNeverEntered;
  hang.verdict.culprits = {Rank{1}};
  hang.verdict.victims = {Rank{0}, Rank{2}, Rank{3}};
  hang.verdict.nodes = {"alpha"};
  hang.verdict.ordinal = 40;
  hang.verdict.signature.kind = tracer::OpKind::kAllReduce;
  hang.verdict.lasting = ms(2500);
  hang.verdict.sentence = "rank 1 has not entered all_reduce #40";
  return hang;
}

TEST_CASE("a hang is told, with its age, until it passes or the next attempt begins") {
  Story story = replaced();
  story.event(76000, hang_of(1, Diagnosed::Stage::kSuspected));
  StatusFold fold;
  for (const JournalEntry& entry : story.entries) fold.take(entry);
  const auto status =
      read_status_answer(write_status_answer(fold.status(story.entries.back().at + ms(2000))));
  REQUIRE(status);
  REQUIRE(status->hang);
  CHECK_FALSE(status->hang->confirmed);
  CHECK(status->hang->finding == tracer::Finding::kNeverEntered);
  CHECK(status->hang->culprits == std::vector<std::uint32_t>{1});
  CHECK(status->hang->victims == std::vector<std::uint32_t>{0, 2, 3});
  CHECK(status->hang->operation == "all_reduce");
  CHECK(status->hang->lasting == ms(4500));
  story.event(79000, hang_of(0, Diagnosed::Stage::kPassed));  // of another attempt
  CHECK(status_of_journal(story.entries).hang);
  Story passed = story;
  passed.event(80000, hang_of(1, Diagnosed::Stage::kPassed));
  CHECK_FALSE(status_of_journal(passed.entries).hang);
  Story resumed = story;
  resumed.event(80000, SupervisorResumed{2, "beta", 7, {}, {}});  // watches anew
  CHECK_FALSE(status_of_journal(resumed.entries).hang);
  Story late = story;
  Diagnosed not_ended = hang_of(1, Diagnosed::Stage::kConvicted);  // its attempt goes on
  not_ended.verdict.finding = tracer::Finding::kNotEnded;
  late.event(80000, not_ended);
  CHECK(status_of_journal(late.entries).hang);
  late.event(81000, SupervisorResumed{2, "beta", 7, {}, {}});
  CHECK_FALSE(status_of_journal(late.entries).hang);
  story.event(80000, hang_of(1, Diagnosed::Stage::kConvicted));
  story.event(81000, SupervisorResumed{2, "beta", 7, {}, {}});
  REQUIRE(status_of_journal(story.entries).hang);
  CHECK(status_of_journal(story.entries).hang->confirmed);
  story.start(90000, 2, 4);
  CHECK_FALSE(status_of_journal(story.entries).hang);
}

TEST_CASE("a slowness is told until it passes, and does not end with a hang, or a hang with it") {
  Diagnosed slow = hang_of(1, Diagnosed::Stage::kSuspected);
  slow.verdict.finding = tracer::Finding::kSlowRank;
  Diagnosed over = slow;
  over.stage = Diagnosed::Stage::kPassed;
  Story story = replaced();
  story.event(76000, slow);
  CHECK(status_of_journal(story.entries).hang);
  Story passed = story;
  passed.event(77000, hang_of(1, Diagnosed::Stage::kPassed));
  CHECK(status_of_journal(passed.entries).hang);
  passed.event(78000, over);
  CHECK_FALSE(status_of_journal(passed.entries).hang);
  story.event(77000, hang_of(1, Diagnosed::Stage::kSuspected));
  story.event(78000, over);
  REQUIRE(status_of_journal(story.entries).hang);
  CHECK(status_of_journal(story.entries).hang->finding == tracer::Finding::kNeverEntered);
}

TEST_CASE("restarts are told with their causes, and the speed is that of this attempt") {
  const RunStatus status = status_of_journal(replaced().entries);
  CHECK(status.attempt == 1);
  CHECK(status.restarts == 1);
  REQUIRE(status.last_restarts.size() == 1);
  CHECK(status.last_restarts[0].cause == "the agent of beta was lost: its machine does not answer");
  CHECK(status.steps == 101);
  CHECK(status.step == 402);
  REQUIRE(status.steps_per_second);
  CHECK(*status.steps_per_second == doctest::Approx(10.0));
}

TEST_CASE("the time of a step is known however long steps take, from the second one on") {
  Story story = scenarios::Story().run({{"n1", "10.0.0.1", 1}});
  const auto known = [&] {
    StatusFold fold;
    for (const JournalEntry& entry : story.entries) fold.take(entry);
    return step_time(fold.steps_per_second());
  };
  story.start(1'000, 0, 1).progress(60'000, 0, Progress::Mark::kFirstStep, 60'000, 1);
  CHECK(known() == base::Nanos());
  for (int step = 2; step < 6; ++step) {
    // A minute's summary tells of a step that was done a while ago.
    story.progress(60'000.0 * step + 40'000, 0, Progress::Mark::kSummary, 60'000.0 * step,
                   static_cast<std::uint64_t>(step));
    CHECK(known() == base::Nanos(std::chrono::seconds(60)));
  }
  story.decide(400'000, Rule::kRestart, 1, "restart").start(401'000, 1, 1);
  CHECK(known() == base::Nanos());
  for (const double wrong : {0.0, -1.0, 1e-300, std::nan("")}) {
    CHECK(step_time(wrong) == base::Nanos());
  }
}

TEST_CASE("the time that is left is told while the run goes on towards a goal") {
  RunStatus status = live(replaced());
  note_time_left(status);
  CHECK_FALSE(status.left);
  status.stop_after_steps = 1000;
  note_time_left(status);
  REQUIRE(status.left);
  CHECK(*status.left == ms(59'800));  // 598 steps, 10 a second
  CHECK(render_status(status, false, 90, 100).find("10 steps/s, ETA 1:00, the") !=
        std::string::npos);
  CHECK(status_json(status).find(R"("left_s":59.8)") != std::string::npos);
  status.state = JobState::kBackoff;
  note_time_left(status);
  CHECK_FALSE(status.left);
  status.state = JobState::kRunning;
  status.stop_after_steps = 402;
  note_time_left(status);
  CHECK_FALSE(status.left);
}

TEST_CASE("the goal is that of the option, else the number that the script reports") {
  RunStatus status = live(replaced());
  status.metrics = {{"loss", 2.5}, {"steps_total", 1000}};
  note_time_left(status);
  REQUIRE(status.left);
  CHECK(*status.left == ms(59'800));  // 598 steps, 10 a second
  status.stop_after_steps = 502;
  note_time_left(status);
  CHECK(*status.left == ms(10'000));
  status.stop_after_steps.reset();
  for (const double wrong : {0.0, -5.0, 1e300, std::nan("")}) {
    status.metrics.back().value = wrong;
    note_time_left(status);
    CHECK_FALSE(status.left);
  }
}

TEST_CASE("of many restarts the last ones are kept") {
  Story story;
  story.run({{"alpha", "10.0.0.1", 1}});
  for (std::uint32_t i = 0; i < 20; ++i) {
    story.decide(i, Rule::kWorkerFailed, i, fmt::format("failure {}", i));
    story.decide(i, Rule::kRestart, i, "again");
  }
  const RunStatus status = status_of_journal(story.entries);
  CHECK(status.restarts == 20);
  REQUIRE(status.last_restarts.size() == 5);
  CHECK(status.last_restarts.back().cause == "failure 19");
}

TEST_CASE("the state of a run without a supervisor is that of a replay") {
  const std::vector<JournalEntry> all = scenarios::recovered().entries;
  CHECK(status_of_journal(all).state == JobState::kFinished);
  CHECK(status_of_journal(all).supervisor == SupervisorStatus::kEnded);
  CHECK(status_of_journal(all).exit_code == 0);
  const std::vector<JournalEntry> one(all.begin(), all.begin() + 1);
  CHECK(status_of_journal(one).state == JobState::kJoining);
  CHECK(status_of_journal(one).supervisor == SupervisorStatus::kSilent);
}

TEST_CASE("a status survives its way over the socket") {
  for (const auto& [name, status] : pictures()) {
    CAPTURE(name);
    const auto read = read_status_answer(write_status_answer(status));
    REQUIRE(read);
    // Seconds are doubles on the way: compared as they are shown.
    CHECK(render_status(*read, false, 90, 100) == render_status(status, false, 90, 100));
    CHECK(read->exit_code == status.exit_code);
    CHECK(read->nodes.size() == status.nodes.size());
  }
}

TEST_CASE("what is no status is refused, and strange members are left alone") {
  CHECK_FALSE(read_status_answer(""));
  CHECK_FALSE(read_status_answer("[]"));
  CHECK_FALSE(read_status_answer(R"({"type":"status"})"));
  CHECK(read_status_answer(R"({"type":"error","message":"not now"})").error().what == "not now");
  const auto read = read_status_answer(
      R"({"status":{"run_id":7,"pid":99999999999,"uptime_s":1e300,"nodes":[1,{"name":"a"}],
          "steps":-1,"exit_code":null,"step":-3,"metrics":{},"attempt":2.5}})");
  REQUIRE(read);
  CHECK(read->run_id.empty());
  CHECK(read->pid == 0);
  CHECK(read->uptime == base::Nanos{});
  CHECK(read->steps == 0);
  CHECK(read->step == -3);
  REQUIRE(read->nodes.size() == 2);
  CHECK(read->nodes[1].name == "a");
}

TEST_CASE("the table is cut, and nothing in it moves the cursor") {
  RunStatus status = live(replaced());
  status.nodes[0].name = "evil\x1b[2J";
  const std::string text = render_status(status, false, 90, 2);
  CHECK(text.find("and 1 more") != std::string::npos);
  CHECK(text.find('\x1b') == std::string::npos);
}

}  // namespace
}  // namespace robustrun::supervisor::status_test
