// A worker that ends with exit code 0 while others still train: which rank is blamed for their
// failure.
#include <doctest/doctest.h>

#include "supervisor/core/fault/early_end.h"
#include "supervisor/core/report/render.h"
#include "supervisor/core/report/report.h"
#include "supervisor/core/types/limits.h"
#include "tests/supervisor/job_journal.h"
#include "tests/supervisor/story.h"

namespace robustrun::supervisor::test::job_early_end_test {
namespace {

using Ranks = std::vector<base::Rank>;

JobSpec with_rows(std::vector<std::uint32_t> slots) {
  JobSpec spec = make_spec(std::move(slots));
  FaultRow peer;
  peer.name = "lost its peer";
  peer.texts = {"closed by peer"};
  peer.sequel = true;
  FaultRow disk;
  disk.name = "no space left";
  disk.texts = {"No space"};
  disk.confidence = Confidence::kHigh;
  FaultRow early;
  early.name = "a worker ended while others continued";
  early.found = {"ended early"};
  early.layer = Layer::kUserCode;
  spec.faults = {peer, disk, early};
  return spec;
}

struct Training : Harness {
  explicit Training(std::vector<std::uint32_t> slots = {3}) : Harness(with_rows(slots)) {
    run();
    first_step();
  }
  void end_well(std::uint32_t rank, std::int64_t step) {
    WorkerExited exit = exited(0, rank, 0);
    exit.steps = static_cast<std::uint64_t>(step);
    exit.step = step;
    tell_exit(exit);
  }
  void fail(std::uint32_t rank, std::vector<std::string> lines, bool traced = false) {
    WorkerExited exit = exited(0, rank, 1);
    exit.stderr_tail = std::move(lines);
    exit.traced = traced;
    tell_exit(exit);
  }
  void answer(tracer::Finding finding, tracer::OpKind kind, Ranks culprits, Ranks victims) {
    tracer::Verdict verdict;
    verdict.finding = finding;
    verdict.confidence = tracer::Confidence::kMajority;
    verdict.culprits = std::move(culprits);
    verdict.victims = std::move(victims);
    verdict.signature.kind = kind;
    tell(Diagnosed{job.attempt(), Diagnosed::Stage::kPostMortem, std::move(verdict), seconds(0)});
  }
};

const std::vector<std::string> kInAllReduce = {
    "Traceback (most recent call last):",
    "  File \"train.py\", line 9, in <module>",
    "  File \"/x/torch/distributed/c10d_logger.py\", line 83, in wrapper",
    "  File \"/x/torch/distributed/distributed_c10d.py\", line 3000, in all_reduce",
    "  File \"/x/torch/distributed/distributed_c10d.py\", line 99, in _helper",
    "RuntimeError: Connection closed by peer [127.0.0.1]:5287"};

TEST_CASE("the rank that ended is blamed, not the one that lost it") {
  Training h;
  h.end_well(1, 100);
  CHECK(h.all<Decision>().empty());
  h.fail(0, kInAllReduce);
  CHECK(
      h.text(Rule::kEndedEarly) ==
      "rank 1 ended with 0 at step 100 while rank 0 waited in all_reduce; stopping the other rank");
  CHECK_FALSE(h.decided(Rule::kWorkerFailed));
  CHECK(h.all<Decision>()[0].looks_like->name == "a worker ended while others continued");
  h.all_gone();
  CHECK(h.text(Rule::kRestart).starts_with("restart 1 of 3"));  // the script's own
}

TEST_CASE("the operation is asked for where no traceback tells it") {
  Training h;
  h.end_well(1, 100);
  h.fail(0, {"Connection closed by peer"}, true);
  CHECK(h.text(Rule::kEndedEarly) ==
        "rank 1 ended with 0 at step 100 while rank 0 waited for it; stopping the other rank");
  SUBCASE("and known") {
    h.answer(tracer::Finding::kDied, tracer::OpKind::kAllReduce, {{1}}, {{0}, {2}});
    CHECK(h.text(Rule::kEndedEarly) ==
          "rank 1 ended with 0 at step 100 while ranks 0 and 2 waited in all_reduce");
  }
  SUBCASE("and not known") {
    h.answer(tracer::Finding::kNothing, tracer::OpKind::kUnknown, {}, {});
    CHECK(h.all<Decision>().empty());
  }
  SUBCASE("and another worker died") {
    h.answer(tracer::Finding::kDied, tracer::OpKind::kAllReduce, {{2}}, {{0}});
    CHECK(h.all<Decision>().empty());
  }
  SUBCASE("and it was different calls all the same") {
    h.answer(tracer::Finding::kMismatch, tracer::OpKind::kAllReduce, {{1}}, {{0}});
    CHECK(h.decided(Rule::kMismatch));
  }
}

TEST_CASE("a worker that fails by itself is to blame, whatever workers have ended before") {
  Training h;
  h.end_well(1, 100);
  SUBCASE("first") {
    h.fail(0, {"OSError: No space left"});
    CHECK(h.decided(Rule::kWorkerFailed));
  }
  SUBCASE("seen after one that lost its peer") {
    h.fail(0, kInAllReduce);
    h.fail(2, {"OSError: No space left"});
    h.all_gone();
    CHECK(h.all<Decision>().back().looks_like->name == "no space left");
    CHECK(h.evidence(Rule::kRestart).size() == 2);
  }
}

TEST_CASE("without a worker that ended well, a lost peer is what it was") {
  Training h;
  h.fail(0, kInAllReduce);
  CHECK(h.decided(Rule::kWorkerFailed));
}

TEST_CASE("workers that wait for ever for one that ended are the script's fault, too") {
  Training h;
  h.end_well(1, 100);
  tracer::Verdict verdict;
  verdict.finding = tracer::Finding::kDied;
  verdict.culprits = {{1}};
  verdict.victims = {{0}, {2}};
  verdict.signature.kind = tracer::OpKind::kBarrier;
  h.tell(Diagnosed{h.job.attempt(), Diagnosed::Stage::kConvicted, verdict, seconds(1)});
  CHECK(h.text(Rule::kEndedEarly)
            .starts_with("rank 1 ended with 0 at step 100 while ranks 0 and 2 waited in barrier"));
  h.all_gone();
  CHECK(h.text(Rule::kRestart).starts_with("restart 1 of 3"));
}

TEST_CASE("more early ends than are kept explain a hang, too") {
  constexpr auto kEnded = static_cast<std::uint32_t>(kEndedWellKept) + 6;
  Training h({kEnded + 1});
  tracer::Verdict verdict;
  verdict.finding = tracer::Finding::kDied;
  verdict.victims = {{0}};
  for (std::uint32_t rank = 1; rank <= kEnded; ++rank) {
    h.end_well(rank, 100);
    verdict.culprits.push_back({rank});
  }
  h.tell(Diagnosed{h.job.attempt(), Diagnosed::Stage::kConvicted, verdict, seconds(1)});
  CHECK(h.decided(Rule::kEndedEarly));
}

TEST_CASE("words for one and for many, with steps, numbers of them, or without") {
  const auto words = [](std::vector<EarlyEnd> ended, const Ranks& waiting) {
    return in_words(ended, waiting, "");
  };
  CHECK(words({{{1}, 7, {}}}, {{0}}) ==
        "rank 1 ended with 0 after 7 steps while rank 0 waited for it");
  CHECK(words({{{1}, 0, {}}}, {}) == "rank 1 ended with 0 while others waited for it");
  CHECK(words({{{3}, 7, 8}, {{1}, 7, 8}}, {{0}, {2}}) ==
        "ranks 1 and 3 ended with 0 at step 8 while ranks 0 and 2 waited for them");
  CHECK(words({{{1}, 7, 8}, {{3}, 9, 9}}, {{0}}) ==
        "ranks 1 and 3 ended with 0 while rank 0 waited for them");
  Ranks many;
  for (std::uint32_t i = 10; i > 0; --i) many.push_back({i});
  CHECK(words({{{0}, 1, {}}}, many) ==
        "rank 0 ended with 0 after 1 step while ranks 1, 2, 3, 4, 5, 6, 7, 8 and 2 more waited "
        "for it");
}

TEST_CASE("the operation of a traceback is the outermost of torch's own frames for people") {
  WorkerExited exit;
  CHECK(operation_in_traceback(exit).empty());
  exit.stderr_tail = kInAllReduce;
  CHECK(operation_in_traceback(exit) == "all_reduce");
  exit.stderr_tail = {"File \"torch/distributed/distributed_c10d.py\", line 1, in <module>"};
  CHECK(operation_in_traceback(exit).empty());
  exit.stderr_tail = {"in all_reduce"};
  CHECK(operation_in_traceback(exit).empty());
}

TEST_CASE("the report names the cause where it says why") {
  using scenarios::Story;
  Story story;
  story.run({{"node0", "127.0.0.1", 2}}).start(4, 0, 2);
  WorkerExited ended = exited(0, 1, 0);
  story.event(900, ended);
  story.event(1000, exited(0, 0, 1));
  story.decide(1000, Rule::kEndedEarly, 0, "rank 1 ended with 0; stopping the other 2 ranks",
               {"rank 1 ended with 0"});
  story.decide(1001, Rule::kBudgetExhausted, 0, "no restart left").finish(1002, 1);
  const std::string page = render_report(build_report(story.entries), {false, 100, Detail::kFull});
  CHECK(page.find("why       rank 1 ended with 0; no restart left") != std::string::npos);
  CHECK(page.find("Incident 1 of 1: a worker that ended early") != std::string::npos);
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_early_end_test
