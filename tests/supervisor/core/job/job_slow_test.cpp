// A machine that slows the job down: the vote, what follows from it, and what ends it early.
#include <doctest/doctest.h>

#include "supervisor/core/report/report.h"
#include "tests/supervisor/job_journal.h"
#include "tests/supervisor/policy_words.h"

namespace robustrun::supervisor::test::job_slow_test {
namespace {

using namespace std::chrono_literals;
using Stage = Diagnosed::Stage;

tracer::Verdict slow_rank(std::uint32_t rank) {
  tracer::Verdict verdict;
  verdict.finding = tracer::Finding::kSlowRank;
  verdict.confidence = tracer::Confidence::kExact;
  verdict.culprits = {{rank}};
  verdict.sentence = "the others wait for rank " + std::to_string(rank);
  return verdict;
}

JobSpec four_and(std::uint32_t spares) {
  JobSpec spec = policy_spec(std::vector<std::uint32_t>(4 + spares, 1), 4, 4);
  spec.policy.slow.assumed_price = 5min;
  return spec;
}

// Four nodes of a worker each that did steps of 200 ms, and a spare.
struct Slowed : Harness {
  explicit Slowed(JobSpec spec = four_and(1)) : Harness(std::move(spec)) {
    run();
    first_step();
    now += 60s;
  }
  Diagnosed look(Stage stage, tracer::Verdict verdict, base::Nanos period = 500ms) const {
    return {job.attempt(), stage, std::move(verdict), 700ms, period, 200ms};
  }
  void accuse(std::uint32_t rank) { tell(look(Stage::kSuspected, slow_rank(rank))); }
  // The next look, and what it finds.
  void round(tracer::Verdict verdict, base::Nanos period = 500ms) {
    fire(TimerId::kSlow);
    REQUIRE(all<LookAtPace>().size() == 1);
    CHECK(all<LookAtPace>()[0].attempt == job.attempt());
    now += 1s;
    tell(look(Stage::kRound, std::move(verdict), period));
  }
  void vote(const std::vector<std::uint32_t>& ranks) {
    accuse(ranks.front());
    for (std::size_t i = 1; i < ranks.size(); ++i) round(slow_rank(ranks[i]));
  }
  // Until the looks while it is waited for are over.
  void let_drain() {
    for (int i = 0; i < 20 && job.state() == JobState::kRunning; ++i) fire(TimerId::kSlow);
  }
};

TEST_CASE("five rounds ten seconds apart: the machine named in most is replaced by a spare") {
  Slowed h;
  const base::Nanos began = h.now;
  h.accuse(2);
  CHECK(h.decided(Rule::kSlow));
  REQUIRE_FALSE(h.evidence(Rule::kSlow).empty());
  CHECK(h.evidence(Rule::kSlow).back() ==
        "steps take 500 ms, 200 ms before: 5 looks, one every 10.00 s, decide whether a machine is "
        "replaced");
  for (const std::uint32_t rank : {2U, 1U, 2U}) {
    h.round(slow_rank(rank));
    CHECK(h.all<Decision>().empty());
  }
  h.round(slow_rank(2));
  CHECK(h.now - began < 50s);
  CHECK(
      h.text(Rule::kSlowDrain) ==
      "node2 slows the job down (named in 4 of 5 looks) and is replaced in 1 min 00 s unless the "
      "job recovers by then; a restart without node2 costs 5 min 00 s and would gain 14 h 24 min");
  const auto evidence = h.evidence(Rule::kSlowDrain);
  REQUIRE(evidence.size() == 6);
  CHECK(evidence[0] == "the others wait for rank 2");
  CHECK(evidence[1] == "steps take 500 ms, 200 ms before: 60 % of the time is lost");
  CHECK(evidence[2] == "24 h 00 min of the job are left (assumed)");
  CHECK(evidence[3] == "a restart costs 5 min 00 s (assumed: this run had none)");
  CHECK(evidence[4] == "node1 was named in 1 of 5 looks");
  CHECK(h.job.state() == JobState::kRunning);

  h.let_drain();
  CHECK(h.text(Rule::kSlowEvicted) ==
        "node2 slows the job down (named in 4 of 5 looks): stopping all workers, to go on without "
        "it");
  for (const StopWorkers& stop : h.all<StopWorkers>()) CHECK(stop.reason == StopReason::kPreempt);
  for (const std::uint32_t node : {0U, 1U, 2U}) h.gone(node);
  h.gone(3);
  CHECK(h.text(Rule::kNodeEvicted).starts_with("node2 is evicted: "));
  CHECK(h.text(Rule::kRestart).starts_with("free restart (nothing failed)"));
  CHECK(h.text(Rule::kNodeReplaced).starts_with("node4 takes the place of node2"));
  h.begin();
  CHECK(h.group == std::vector<std::uint32_t>{0, 1, 4, 3});
}

TEST_CASE("without a majority nothing is replaced, and only another verdict begins again") {
  Slowed h;
  h.vote({2, 1, 2, 1, 3});
  CHECK(h.text(Rule::kSlowUnclear) ==
        "steps take 500 ms, 200 ms before, and no machine is replaced: none was named in more than "
        "half of 5 looks");
  CHECK(h.evidence(Rule::kSlowUnclear).size() == 3);
  h.tell(TimerFired{TimerId::kSlow, h.timers[static_cast<std::size_t>(TimerId::kSlow)].sequence});
  CHECK(h.actions.empty());
  h.tell(h.look(Stage::kRound, slow_rank(2)));
  CHECK(h.actions.empty());
  h.vote({2, 2, 2, 1, 1});
  CHECK(h.decided(Rule::kSlowDrain));
}

TEST_CASE("a look without an answer names no machine, and does not hold up the vote") {
  Slowed h;
  h.accuse(2);
  for (int i = 0; i < 4; ++i) h.fire(TimerId::kSlow);
  h.tell(h.look(Stage::kRound, slow_rank(2)));  // one of them
  CHECK(h.actions.empty());
  h.fire(TimerId::kSlow);
  CHECK(h.decided(Rule::kSlowUnclear));
  h.vote({2, 2, 2});
  h.fire(TimerId::kSlow);
  h.fire(TimerId::kSlow);
  h.fire(TimerId::kSlow);
  CHECK(h.decided(Rule::kSlowDrain));
}

TEST_CASE("a machine that is not worth a restart is reported once, with the numbers") {
  JobSpec spec = four_and(1);
  spec.time_limit = 6min;
  Slowed h(spec);
  h.vote({2, 2, 2, 2, 2});
  CHECK(h.text(Rule::kSlowKept)
            .find("and stays: a restart without node2 costs 5 min 00 s and would "
                  "gain 2 min 3") != std::string::npos);
  CHECK(h.evidence(Rule::kSlowKept).at(2).ends_with("(--time-limit)"));
  h.vote({2, 2, 2, 2, 2});
  CHECK(h.actions.empty());
  h.vote({1, 1, 1, 1, 1});  // another machine
  CHECK(h.decided(Rule::kSlowKept));
}

TEST_CASE("without a spare it stays, and is told why; also when the spare is lost meanwhile") {
  Slowed alone(four_and(0));
  alone.vote({2, 2, 2, 2, 2});
  CHECK(alone.text(Rule::kSlowKept).ends_with("; 3 other machines are there, and 4 are needed"));
  Slowed h;
  h.vote({2, 2, 2, 2, 2});
  CHECK(h.decided(Rule::kSlowDrain));
  h.lose(4, "no power", false);
  for (int i = 0; i < 20 && !h.decided(Rule::kSlowKept); ++i) h.fire(TimerId::kSlow);
  CHECK(h.text(Rule::kSlowKept).find("stays after all: 3 other machines") != std::string::npos);
  CHECK(h.job.state() == JobState::kRunning);
}

TEST_CASE("a restart that would repeat what has ended well is not worth it") {
  Slowed h;
  h.tell_exit(exited(0, 0, 0));
  h.vote({2, 2, 2, 2, 2});
  CHECK(h.text(Rule::kSlowKept).ends_with("; some workers have finished already"));
}

TEST_CASE("a job that recovers ends the vote and the wait for the restart") {
  for (const bool is_decided : {false, true}) {
    CAPTURE(is_decided);
    Slowed h;
    h.vote(is_decided ? std::vector<std::uint32_t>{2, 2, 2, 2, 2}
                      : std::vector<std::uint32_t>{2, 2});
    h.round(tracer::Verdict{}, 210ms);
    CHECK(h.text(Rule::kSlowOver) == "steps take 210 ms, 200 ms before: no machine is replaced");
    h.tell(TimerFired{TimerId::kSlow, h.timers[static_cast<std::size_t>(TimerId::kSlow)].sequence});
    CHECK(h.actions.empty());
    CHECK(h.job.state() == JobState::kRunning);
  }
}

TEST_CASE("a slowness that passes is told once, by the vote while it is open") {
  Slowed h;
  h.vote({2, 2});
  h.tell(h.look(Stage::kPassed, slow_rank(2), 200ms));
  CHECK(h.actions.empty());
  h.round(tracer::Verdict{}, 200ms);
  CHECK(h.text(Rule::kSlowOver) == "steps take 200 ms, 200 ms before: no machine is replaced");
  Slowed alone(four_and(0));
  alone.vote({2, 2, 2, 2, 2});
  REQUIRE(alone.decided(Rule::kSlowKept));
  alone.tell(alone.look(Stage::kPassed, slow_rank(2), 200ms));
  CHECK(alone.text(Rule::kSlowOver) == "steps are as fast as before");
  CHECK(alone.evidence(Rule::kSlowOver).front().starts_with("slow: "));
  CHECK_FALSE(alone.decided(Rule::kHangPassed));
}

TEST_CASE("the price is the median of what this run's own restarts have cost") {
  Slowed h;
  std::uint32_t version = 0;
  for (const base::Nanos cost : {40s, 20s, 30s}) {
    h.tell(UpdateRequested{++version, {"env A=1"}, {}, true, {}});
    const base::Nanos failed = h.now;
    h.recover();
    h.now = failed + cost;
    h.first_step();
    h.now += 60s;
  }
  h.vote({2, 2, 2, 2, 2});
  CHECK(h.evidence(Rule::kSlowDrain).at(3) == "a restart costs 30.00 s (median of 3 of this run)");
}

TEST_CASE("steps that are left are known from --stop-after-steps") {
  JobSpec spec = four_and(1);
  spec.stop_after_steps = 1000;
  Slowed h(spec);
  h.tell(Progress{h.job.attempt(), Progress::Mark::kSummary, h.now, 900, 900, {}, {}});
  h.vote({2, 2, 2, 2, 2});
  CHECK(h.decided(Rule::kSlowKept));
  CHECK(h.evidence(Rule::kSlowKept).at(2).ends_with("(--stop-after-steps)"));
}

TEST_CASE("a link without a culprit accuses both ends, which are tested after their eviction") {
  Slowed h(four_and(2));
  auto link = slow_rank(0);
  link.finding = tracer::Finding::kSlowLink;
  link.culprits.clear();
  link.edges = {{{1}, {2}}};
  h.tell(h.look(Stage::kSuspected, link));
  for (int i = 0; i < 4; ++i) h.round(link);
  CHECK(h.text(Rule::kSlowDrain).starts_with("node1 and node2 slow the job down"));
  h.let_drain();
  for (std::uint32_t node = 0; node < 4; ++node) h.gone(node);
  CHECK(h.text(Rule::kNodeEvicted).starts_with("node1 and node2 are evicted"));
  REQUIRE(h.all<CheckNodes>().size() == 1);
  CHECK(h.all<CheckNodes>()[0].nodes == std::vector<base::NodeId>{{1}, {2}});
}

TEST_CASE(
    "a rank that is late by seconds looks like one that never comes, and is voted on all the "
    "same") {
  Slowed h;
  auto absent = slow_rank(2);
  absent.finding = tracer::Finding::kNeverEntered;
  h.tell(h.look(Stage::kSuspected, absent));
  CHECK(h.decided(Rule::kHangSuspected));
  auto unclear = absent;
  unclear.finding = tracer::Finding::kUndecided;
  h.round(unclear);  // names no machine
  for (int i = 0; i < 3; ++i) h.round(absent);
  CHECK(h.text(Rule::kSlowDrain).starts_with("node2 slows the job down (named in 4 of 5 looks)"));
}

TEST_CASE("there is no vote without a former pace, a policy, or another machine") {
  const auto is_quiet = [](Slowed& h, const Diagnosed& what) {
    h.tell(what);
    return h.all<SetTimer>().empty() && h.decided(Rule::kSlow);
  };
  Slowed h;
  Diagnosed unknown = h.look(Stage::kSuspected, slow_rank(2));
  unknown.usual = {};
  CHECK(is_quiet(h, unknown));
  CHECK(is_quiet(h, h.look(Stage::kSuspected, slow_rank(2), 150ms)));
  CHECK(is_quiet(h, h.look(Stage::kSuspected, slow_rank(77))));
  auto everybody = slow_rank(0);
  everybody.culprits = {{0}, {1}, {2}, {3}};
  CHECK(is_quiet(h, h.look(Stage::kSuspected, everybody)));
  JobSpec spec = four_and(1);
  spec.policy.slow.rounds = 0;
  Slowed off(spec);
  CHECK(is_quiet(off, off.look(Stage::kSuspected, slow_rank(2))));
  spec.policy = {};
  Slowed compat(spec);
  CHECK(is_quiet(compat, compat.look(Stage::kSuspected, slow_rank(2))));
}

TEST_CASE("a failure ends the vote; the next attempt begins without one") {
  Slowed h;
  h.vote({2, 2, 2, 2, 2});
  h.tell_exit(exited(0, 1, 1));
  CHECK(h.job.state() == JobState::kStopping);
  h.tell(TimerFired{TimerId::kSlow, h.timers[static_cast<std::size_t>(TimerId::kSlow)].sequence});
  CHECK(h.actions.empty());
  h.recover();
  h.tell(h.look(Stage::kRound, slow_rank(2)));
  CHECK(h.actions.empty());
}

TEST_CASE("a vote goes on under another supervisor, and the report has what came of it") {
  Slowed h;
  JobJournal journal(h);
  journal.tell({h.now, {}, {}, h.look(Stage::kSuspected, slow_rank(2))});
  h.tell(SupervisorResumed{2, "other", 7, {}, {}});
  CHECK(std::ranges::any_of(h.all<SetTimer>(),
                            [](const SetTimer& timer) { return timer.id == TimerId::kSlow; }));
  Job replayed;
  for (const Event& event : h.journal) replayed.handle(event);
  CHECK(replayed.digest() == h.job.digest());
  journal.tell({h.now, {}, {}, h.look(Stage::kRound, slow_rank(2))});
  const RunReport report = build_report(journal.entries);
  CHECK(report.hangs.size() == 1);  // a round is no news of its own
}

}  // namespace
}  // namespace robustrun::supervisor::test::job_slow_test
