// A worker fails because another one called something else: which is blamed, and how long that may
// take.
#include <doctest/doctest.h>

#include "supervisor/core/report/report.h"
#include "supervisor/core/status/status.h"
#include "supervisor/core/types/limits.h"
#include "tests/supervisor/job_journal.h"

namespace robustrun::supervisor::test::job_post_mortem_test {
namespace {

using Stage = Diagnosed::Stage;

tracer::Verdict mismatch() {
  tracer::Verdict verdict;
  verdict.finding = tracer::Finding::kMismatch;
  verdict.confidence = tracer::Confidence::kMajority;
  verdict.culprits = {{1}};
  verdict.sentence = "rank 1 calls all_reduce of 128, but rank 0 calls all_reduce of 64";
  verdict.evidence = {"operation #7: both sides"};
  return verdict;
}

struct Failed : Harness {
  explicit Failed(JobSpec spec = make_spec({3})) : Harness(std::move(spec)) {
    run();
    first_step();
  }
  void abort_rank(bool traced = true) {
    WorkerExited exit = killed(job.attempt().value, 0, 6);
    exit.traced = traced;
    tell_exit(exit);
  }
  void answer(tracer::Verdict verdict) {
    tell(Diagnosed{job.attempt(), Stage::kPostMortem, std::move(verdict), milliseconds(90)});
  }
};

TEST_CASE("the workers are asked what they called before they are stopped") {
  Failed h;
  h.abort_rank();
  REQUIRE(h.all<LookBack>().size() == 1);
  const auto place = [&]([[maybe_unused]] auto wanted) {
    return std::ranges::find_if(h.actions, [](const Action& action) {
      return std::holds_alternative<decltype(wanted)>(action);
    });
  };
  CHECK(place(LookBack{}) < place(StopWorkers{}));
}

TEST_CASE("the question has the newest part of the failed worker's last words") {
  Failed h;
  WorkerExited exit = killed(h.job.attempt().value, 1, 6);
  exit.traced = true;
  exit.stderr_tail = {std::string(2 * kLastWordsBytesMax, 'a'), "128 vs 64"};
  h.tell_exit(exit);
  REQUIRE(h.all<LookBack>().size() == 1);
  const LookBack question = h.all<LookBack>()[0];
  CHECK(question.failed == base::Rank{1});
  CHECK(question.words.size() == kLastWordsBytesMax);
  CHECK(question.words.ends_with("a\n128 vs 64"));
}

TEST_CASE("no question about a worker without recorded collectives, alone, or not to blame") {
  SUBCASE("nothing is traced") {
    Failed h;
    h.abort_rank(false);
    CHECK(h.all<LookBack>().empty());
  }
  SUBCASE("alone") {
    Failed h(make_spec({1}));
    h.abort_rank();
    CHECK(h.all<LookBack>().empty());
  }
  SUBCASE("its shim was killed") {
    Failed h;
    WorkerExited exit = killed(0, 0, 9);
    exit.traced = exit.shim_lost = true;
    h.tell_exit(exit);
    CHECK(h.all<LookBack>().empty());
  }
}

TEST_CASE("the rank that called something else is blamed, before and after the others are gone") {
  for (const bool gone_first : {false, true}) {
    CAPTURE(gone_first);
    Failed h;
    h.abort_rank();
    if (gone_first) h.all_gone();
    CHECK(h.job.state() == JobState::kStopping);
    h.answer(mismatch());
    CHECK(h.text(Rule::kMismatch) == "mismatch: " + mismatch().sentence);
    CHECK(h.evidence(Rule::kMismatch) == mismatch().evidence);
    if (!gone_first) h.all_gone();
    REQUIRE(h.decided(Rule::kRestart));
    CHECK(h.evidence(Rule::kRestart).front() == "mismatch: " + mismatch().sentence);
    CHECK(h.evidence(Rule::kRestart).at(1).find("SIGABRT") != std::string::npos);
  }
}

TEST_CASE("what comes later does not take the blame away") {
  Failed h;
  h.abort_rank();
  h.answer(mismatch());
  WorkerExited other = exited(0, 2, 1);
  other.error_timestamp_s = 1'700'000'000;  // earlier than all
  h.tell_exit(other);
  h.all_gone();
  CHECK(h.evidence(Rule::kRestart).front().starts_with("mismatch: "));
}

TEST_CASE("an answer that finds nothing leaves everything as it was") {
  Failed h;
  h.abort_rank();
  h.all_gone();
  CHECK_FALSE(h.decided(Rule::kRestart));
  h.answer({});
  CHECK_FALSE(h.decided(Rule::kMismatch));
  CHECK(h.decided(Rule::kRestart));
  CHECK(h.evidence(Rule::kRestart).front().find("SIGABRT") != std::string::npos);
}

TEST_CASE("other verdicts than that of different calls are not told") {
  Failed h;
  h.abort_rank();
  auto verdict = mismatch();
  verdict.finding = tracer::Finding::kDied;
  h.answer(verdict);
  CHECK(h.all<Decision>().empty());
}

TEST_CASE("no answer is waited for longer than the limit, and a late one changes nothing") {
  Failed h;
  const base::Nanos failed_at = h.now;
  h.abort_rank();
  h.now += milliseconds(100);
  h.all_gone();
  CHECK_FALSE(h.decided(Rule::kRestart));
  h.fire(TimerId::kState);
  CHECK(h.now - failed_at == kLookBackMax);
  CHECK(h.decided(Rule::kRestart));
  h.answer(mismatch());
  CHECK(h.actions.empty());
}

TEST_CASE("workers that stop later than the limit do not wait for it") {
  Failed h;
  h.abort_rank();
  h.now += kLookBackMax;
  h.all_gone();
  CHECK(h.decided(Rule::kRestart));
}

TEST_CASE("a port that was taken explains more than different calls") {
  JobSpec spec = make_spec({2});
  Harness h(spec);
  h.run();
  WorkerExited exit = exited(0, 1, 1);
  exit.traced = true;
  h.tell_exit(exit);
  WorkerExited port = exited(0, 0, 1);
  port.error_message = "EADDRINUSE";
  h.tell_exit(port);
  REQUIRE(h.decided(Rule::kPortConflict));
  h.tell(Diagnosed{h.job.attempt(), Stage::kPostMortem, mismatch(), {}});
  CHECK_FALSE(h.decided(Rule::kMismatch));
}

TEST_CASE("it counts as the script's failure, and the same twice is a crash loop") {
  JobSpec spec = make_spec({3});
  spec.restart.max_restarts = 5;
  Harness h(spec);
  h.run();
  for (int i = 0; i < 10 && h.job.state() != JobState::kFinished; ++i) {
    WorkerExited exit = killed(h.job.attempt().value, 0, 6);
    exit.stderr_tail = {"words that differ: " + std::string(static_cast<std::size_t>(i) + 1, 'x')};
    exit.traced = true;
    h.tell_exit(exit);
    h.tell(Diagnosed{h.job.attempt(), Stage::kPostMortem, mismatch(), {}});
    h.all_gone();
    if (h.job.state() == JobState::kFinished) break;
    if (h.job.state() == JobState::kBackoff) h.fire(TimerId::kBackoff);
    h.begin();
  }
  CHECK(h.decided(Rule::kCrashLoop));
}

TEST_CASE("report and status name the cause; looks that found nothing are not listed") {
  Failed h;
  JobJournal journal(h);
  WorkerExited exit = killed(0, 0, 6);
  exit.traced = true;
  journal.tell({h.now, {0}, {h.generation[0]}, exit});
  bool is_found = false;
  SUBCASE("found") { is_found = true; }
  SUBCASE("not found") {}
  journal.tell({h.now,
                {},
                {},
                Diagnosed{{0}, Stage::kPostMortem, is_found ? mismatch() : tracer::Verdict{}, {}}});
  journal.tell({h.now, {0}, {h.generation[0]}, WorkersGone{{0}, 0, {}, {}}});
  const RunReport report = build_report(journal.entries);
  REQUIRE(report.incidents.size() == 1);
  CHECK(report.incidents[0].rank == 0);
  CHECK((report.incidents[0].decision.find("mismatch: rank 1") != std::string::npos) == is_found);
  const RunStatus status = status_of_journal(journal.entries);
  REQUIRE(status.last_restarts.size() == 1);
  CHECK(status.last_restarts[0].cause.starts_with("mismatch: rank 1") == is_found);
  REQUIRE(report.hangs.size() == (is_found ? 1 : 0));
  if (!is_found) return;
  CHECK(report.hangs[0].stage == Diagnosed::Stage::kPostMortem);
  CHECK(report.hangs[0].culprits == std::vector<std::uint32_t>{1});
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_post_mortem_test
