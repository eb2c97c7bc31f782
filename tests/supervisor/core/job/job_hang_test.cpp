// Workers that wait for each other: what the core says, and when it ends the attempt.
#include <doctest/doctest.h>

#include "supervisor/core/report/render.h"
#include "supervisor/core/report/report.h"
#include "supervisor/core/types/exit_code.h"
#include "tests/supervisor/job_journal.h"

namespace robustrun::supervisor::test::job_hang_test {
namespace {

tracer::Verdict absent_rank(std::uint32_t rank) {
  tracer::Verdict verdict;
  verdict.finding = tracer::Finding::kNeverEntered;
  verdict.confidence = tracer::Confidence::kExact;
  verdict.culprits = {{rank}};
  verdict.victims = {{0}};
  verdict.sentence = "rank " + std::to_string(rank) + " has not entered all_reduce #5 for 16 s";
  verdict.evidence = {"rank 0: 5 entered", "rank 1: 4 entered"};
  verdict.runner_up = {tracer::Finding::kLinkStuck, "the link from rank 0 to rank 1"};
  return verdict;
}

Diagnosed diagnosed(const Harness& h, Diagnosed::Stage stage,
                    tracer::Verdict verdict = absent_rank(1)) {
  return {h.job.attempt(), stage, std::move(verdict), milliseconds(900)};
}

struct Running : Harness {
  Running() {
    run();
    first_step();
  }
};

TEST_CASE("a suspicion is told, with its evidence and what else it could be; nothing is done") {
  Running h;
  h.tell(diagnosed(h, Diagnosed::Stage::kSuspected));
  CHECK(h.actions.size() == 1);
  CHECK(h.text(Rule::kHangSuspected) == "hang: rank 1 has not entered all_reduce #5 for 16 s");
  CHECK(h.evidence(Rule::kHangSuspected) ==
        std::vector<std::string>{"rank 0: 5 entered", "rank 1: 4 entered"});
  CHECK(h.all<Decision>()[0].alternatives ==
        std::vector<std::string>{"else: the link from rank 0 to rank 1"});
  CHECK(h.job.state() == JobState::kRunning);
}

tracer::Verdict late_end() {
  tracer::Verdict verdict = absent_rank(1);
  verdict.finding = tracer::Finding::kNotEnded;
  verdict.is_finished = true;
  verdict.victims.clear();
  verdict.sentence = "rank 1 has not ended, 45 s after its script returned";
  return verdict;
}

TEST_CASE("a process that lingers at its end is no hang, and its run succeeds without it") {
  Running h;
  h.tell_exit(exited(0, 0, 0));
  Diagnosed told = diagnosed(h, Diagnosed::Stage::kSuspected, late_end());
  told.outlook = Diagnosed::Outlook::kEndsProcess;
  told.acts_in = std::chrono::minutes(9);
  h.tell(told);
  CHECK(
      h.text(Rule::kHangSuspected) ==
      "rank 1 has not ended, 45 s after its script returned; will be ended in 9 min 0 s unless it "
      "moves (--hang-timeout)");
  h.tell(diagnosed(h, Diagnosed::Stage::kConvicted, late_end()));
  CHECK(h.text(Rule::kSucceeded) ==
        "all 2 workers finished; rank 1 did not end by itself and is stopped");
  CHECK(h.job.state() == JobState::kFinishing);
  CHECK_FALSE(h.decided(Rule::kHangConvicted));
  h.tell_exit(killed(1, 1, SIGKILL));
  h.all_gone();
  CHECK(h.exit_code() == kExitSuccess);
}

TEST_CASE("a lingering rank is ended although another one of the verdict has ended since") {
  Running h;
  tracer::Verdict both = late_end();
  both.culprits = {{0}, {1}};
  h.tell_exit(exited(0, 0, 0));
  h.tell(diagnosed(h, Diagnosed::Stage::kConvicted, both));
  CHECK(h.text(Rule::kSucceeded) ==
        "all 2 workers finished; rank 1 did not end by itself and is stopped");
}

TEST_CASE("nothing is ended while another rank still runs") {
  Running h;
  h.tell(diagnosed(h, Diagnosed::Stage::kConvicted, late_end()));
  CHECK(h.job.state() == JobState::kRunning);
  CHECK_FALSE(h.decided(Rule::kSucceeded));
}

TEST_CASE("what is slow is told as that") {
  Running h;
  auto verdict = absent_rank(1);
  verdict.finding = tracer::Finding::kSlowRank;
  h.tell(diagnosed(h, Diagnosed::Stage::kSuspected, verdict));
  CHECK(h.text(Rule::kSlow).starts_with("slow: "));
}

TEST_CASE("a conviction ends the attempt, and the workers are started again") {
  Running h;
  h.tell(diagnosed(h, Diagnosed::Stage::kConvicted));
  CHECK(h.decided(Rule::kHangConvicted));
  CHECK(h.job.state() == JobState::kStopping);
  REQUIRE(h.all<StopWorkers>().size() == 1);
  CHECK(h.all<StopWorkers>()[0].reason == StopReason::kRestart);
  h.recover();
  CHECK(h.job.attempt() == base::Attempt{1});
}

TEST_CASE("a hang is not the script's fault, but for calls that cannot match") {
  for (const bool mismatch : {false, true}) {
    CAPTURE(mismatch);
    JobSpec spec = make_spec();
    spec.restart.max_restarts = 0;
    Harness h(spec);
    h.run();
    h.first_step();
    auto verdict = absent_rank(1);
    if (mismatch) verdict.finding = tracer::Finding::kMismatch;
    h.tell(diagnosed(h, Diagnosed::Stage::kConvicted, verdict));
    h.all_gone();
    CHECK(h.decided(Rule::kBudgetExhausted) == mismatch);
    CHECK(h.decided(Rule::kRestart) == !mismatch);
  }
}

tracer::Verdict hang_in(std::string line, std::uint32_t rank = 1) {
  auto verdict = absent_rank(rank);
  verdict.place = verdict.script_line = std::move(line);
  return verdict;
}

JobSpec with_restarts(std::uint32_t restarts) {
  JobSpec spec = make_spec();
  spec.restart.max_restarts = restarts;
  return spec;
}

// Until the workers run again, or the run is over.
void hang(Harness& h, const tracer::Verdict& verdict) {
  h.first_step();
  h.tell(diagnosed(h, Diagnosed::Stage::kConvicted, verdict));
  REQUIRE(h.job.state() == JobState::kStopping);
  h.all_gone();
}

void start_again(Harness& h) {
  if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
  REQUIRE(h.job.state() == JobState::kReserving);
  h.begin();
}

TEST_CASE("a hang that comes back in the same line of the script counts, the third ends the run") {
  Harness h(with_restarts(1));
  h.run();
  hang(h, hang_in("train.py:9"));
  CHECK(h.text(Rule::kRestart).starts_with("free restart: starting "));
  CHECK(
      h.text(Rule::kRestart).ends_with("; another hang in train.py:9 will count as the script's"));
  start_again(h);
  hang(h, hang_in("train.py:9", 0));  // whatever rank it is
  CHECK(h.text(Rule::kRestart).starts_with("restart 1 of 1: starting "));
  CHECK(h.text(Rule::kRestart)
            .ends_with("; the hang in train.py:9 came back, and 3 of them end the run"));
  start_again(h);
  hang(h, hang_in("train.py:9"));
  CHECK(h.text(Rule::kCrashLoop).find("the script hung 3 times in train.py:9") !=
        std::string::npos);
  CHECK(h.job.state() == JobState::kFinished);
  CHECK(h.exit_code() == kExitCrashLoop);
}

TEST_CASE("hangs of ranks that poll, or wait for each other, come back at neighbouring lines") {
  const auto third_ends = [](const tracer::Verdict& first, const tracer::Verdict& second,
                             const tracer::Verdict& third) {
    Harness h(with_restarts(1));
    h.run();
    hang(h, first);
    start_again(h);
    hang(h, second);
    CHECK(h.text(Rule::kRestart).starts_with("restart 1 of 1: "));
    start_again(h);
    hang(h, third);
    CHECK(h.exit_code() == kExitCrashLoop);
  };
  third_ends(hang_in("train.py:87"), hang_in("train.py:88"), hang_in("train.py:86"));
  third_ends(hang_in("train.py:30, train.py:87"), hang_in("train.py:30, train.py:88"),
             hang_in("train.py:30, train.py:87, train.py:89"));
  tracer::Verdict undecided = hang_in("train.py:30, train.py:41");
  undecided.finding = tracer::Finding::kUndecided;
  undecided.culprits.clear();
  third_ends(undecided, undecided, undecided);
}

TEST_CASE("of a hang in many lines three are named") {
  Harness h(with_restarts(1));
  h.run();
  hang(h, hang_in("a.py:10, a.py:20, a.py:30, a.py:40, b.py:50"));
  CHECK(h.text(Rule::kRestart)
            .ends_with("; another hang in a.py:10, a.py:20, a.py:30 and 2 more will count as the "
                       "script's"));
  start_again(h);
  hang(h, hang_in("a.py:10, a.py:20, a.py:30, a.py:40, b.py:50"));
  CHECK(h.text(Rule::kRestart)
            .ends_with("; the hang in a.py:10, a.py:20, a.py:30 and 2 more came back, and 3 of "
                       "them end the run"));
  start_again(h);
  hang(h, hang_in("a.py:10, a.py:20, a.py:30, a.py:40, b.py:50"));
  CHECK(h.text(Rule::kCrashLoop).find("in a.py:10, a.py:20, a.py:30 and 2 more (if") !=
        std::string::npos);
}

TEST_CASE("a returning hang without a restart left is the script's failure, not a requeue") {
  Harness h(with_restarts(0));
  h.run();
  hang(h, hang_in("train.py:9"));
  start_again(h);
  hang(h, hang_in("train.py:9"));
  CHECK(h.decided(Rule::kBudgetExhausted));
  CHECK(h.exit_code() == kExitFailure);
}

TEST_CASE(
    "hangs in different lines, in none, of a stopped rank, and one that passed do not add up") {
  Harness h(with_restarts(0));
  h.run();
  const auto goes_on = [&](const tracer::Verdict& verdict) {
    hang(h, verdict);
    CHECK(h.text(Rule::kRestart).starts_with("free restart"));
    start_again(h);
  };
  for (int i = 0; i < 4; ++i) goes_on(hang_in("train.py:" + std::to_string(100 * i)));
  for (int i = 0; i < 4; ++i) goes_on(hang_in(""));
  auto stopped = hang_in("train.py:50");
  stopped.finding = tracer::Finding::kStopped;
  for (int i = 0; i < 4; ++i) goes_on(stopped);
  for (int i = 0; i < 4; ++i) {
    goes_on(hang_in("train.py:60"));
    h.first_step();
    h.tell(diagnosed(h, Diagnosed::Stage::kPassed, hang_in("train.py:60")));
  }
}

TEST_CASE("a hang is forgotten after as much progress as fills the budget") {
  Harness h(with_restarts(0));
  h.run();
  hang(h, hang_in("train.py:9"));
  start_again(h);
  h.first_step();
  h.now += make_spec().restart.window;
  h.first_step();
  h.tell(diagnosed(h, Diagnosed::Stage::kConvicted, hang_in("train.py:9")));
  h.all_gone();
  CHECK(h.text(Rule::kRestart).starts_with("free restart"));
}

TEST_CASE("a suspicion says what follows and when") {
  using Outlook = Diagnosed::Outlook;
  const auto text = [](Outlook outlook, base::Nanos acts_in) {
    Running h;
    Diagnosed what = diagnosed(h, Diagnosed::Stage::kSuspected);
    what.outlook = outlook;
    what.acts_in = acts_in;
    h.tell(what);
    const std::string all = h.text(Rule::kHangSuspected);
    return all.substr(all.find("16 s") + 4);
  };
  CHECK(text(Outlook::kUntold, seconds(45)).empty());
  CHECK(text(Outlook::kIfStill, milliseconds(44900)) ==
        "; will be confirmed in 45 s unless it moves");
  CHECK(text(Outlook::kForSure, seconds(4)) ==
        "; will be confirmed in 4 s: it cannot resolve itself");
  CHECK(text(Outlook::kByTimeout, seconds(585)) ==
        "; the attempt ends in 9 min 45 s unless the hang is over by then (--hang-timeout)");
  CHECK(
      text(Outlook::kWhileMoves, seconds(585)) ==
      "; it moves: the attempt ends in 9 min 45 s (--hang-timeout), or sooner if it stops moving");
  CHECK(text(Outlook::kLeftAlone, seconds(0)) == "; nothing is done about it (--hang-timeout=0)");
}

TEST_CASE("a hang without a culprit, and one of a rank that does not exist, end the attempt, too") {
  for (const bool is_empty : {false, true}) {
    Running h;
    auto verdict = absent_rank(4'000'000'000U);
    if (is_empty) verdict.culprits.clear();
    h.tell(diagnosed(h, Diagnosed::Stage::kConvicted, verdict));
    CHECK(h.job.state() == JobState::kStopping);
  }
}

TEST_CASE("a verdict about an attempt that is over changes nothing") {
  Running h;
  const Diagnosed late = diagnosed(h, Diagnosed::Stage::kConvicted);
  h.tell_exit(exited(0, 0, 1));
  h.tell(late);
  CHECK(h.actions.empty());
  h.recover();
  h.tell(late);
  CHECK(h.actions.empty());
  CHECK(h.job.state() == JobState::kRunning);
}

TEST_CASE("a hang that passes is told") {
  Running h;
  h.tell(diagnosed(h, Diagnosed::Stage::kSuspected));
  h.tell(diagnosed(h, Diagnosed::Stage::kPassed));
  CHECK(h.text(Rule::kHangPassed) == "the hang is over: it resolved itself");
  CHECK(h.job.state() == JobState::kRunning);
}

TEST_CASE("the report lists what was found out, and blames it for the restart") {
  Running h;
  h.now += seconds(20);
  JobJournal journal(h);
  journal.tell({h.now, {}, {}, diagnosed(h, Diagnosed::Stage::kSuspected)});
  journal.tell({h.now, {}, {}, diagnosed(h, Diagnosed::Stage::kConvicted)});
  const RunReport report = build_report(journal.entries);
  REQUIRE(report.hangs.size() == 2);
  CHECK(report.hangs[0].stage == Diagnosed::Stage::kSuspected);
  CHECK(report.hangs[1].stage == Diagnosed::Stage::kConvicted);
  CHECK(report.hangs[1].culprits == std::vector<std::uint32_t>{1});
  const std::string text = render_report(report, {false, 200, Detail::kFull});
  CHECK(text.find("hang: rank 1 has not entered all_reduce #5") != std::string::npos);
  CHECK(report_json(report).find(R"("culprits":[1])") != std::string::npos);
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_hang_test
