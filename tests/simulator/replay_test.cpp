// A run's failures replayed: the accounts of both sides, and where the numbers come from.

#include "simulator/replay.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "tests/supervisor/report_scenarios.h"

namespace robustrun::simulator::replay_test {
namespace {

using namespace supervisor::scenarios;
using supervisor::Rule;
using supervisor::WorkersGone;
using Mark = supervisor::Progress::Mark;

// Trains from 1 s on; rank 1 dies at 10 s and at 30 s; each time 20 ms until that is noticed, 300
// ms until all are gone, and the next first step 2.5 s later.
Story two_deaths() {
  Story story;
  story.run({{"a", "10.0.0.1", 1}, {"b", "10.0.0.2", 1}});
  story.group(3, 0, {{base::NodeId{0}, "a", "10.0.0.1", 0, 1}, {base::NodeId{1}, "b", "", 1, 1}});
  story.start(4, 0, 2).progress(1000, 0, Mark::kFirstStep, 1000, 1, 1);
  double at = 10000;
  for (std::uint32_t attempt = 0; attempt < 2; ++attempt, at += 20000) {
    story.progress(at - 10, attempt, Mark::kSummary, at - 100, 80, 80);
    story.event(at + 20, exited(attempt, 1, base::ExitStatus::Kind::kSignaled, 9, at), 1);
    story.decide(at + 20, Rule::kWorkerFailed, attempt, "rank 1 failed");
    story.event(at + 320, WorkersGone{Attempt{attempt}, 0, {}, {}});
    story.decide(at + 320, Rule::kRestart, attempt, "restart");
    story.start(at + 320, attempt + 1, 2);
    story.progress(at + 2820, attempt + 1, Mark::kFirstStep, at + 2820, 1, 61);
    story.progress(at + 4820, attempt + 1, Mark::kCaughtUp, at + 4820, 20, 80);
  }
  return story.decide(60000, Rule::kSignal, 2, "SIGTERM").finish(60500, 143);
}

ReplayRequest request_for(const Story& story, const Story& calibration) {
  ReplayRequest request;
  request.run = &story.entries;
  request.name = "run";
  request.site = site_of({record_of("calibration", calibration.entries)});
  request.job.checkpoint_every = {seconds(4), Origin::kGiven, "--checkpoint-every"};
  use_times(request.site, request.job, request.times);
  return request;
}

const ReplayRow& row(const Replay& replay, const char* spent) {
  const auto found = std::ranges::find(replay.rows, spent, &ReplayRow::spent);
  REQUIRE(found != replay.rows.end());
  return *found;
}

TEST_CASE("a replay with the run's own times costs what the run did") {
  const Story story = two_deaths();
  const ReplayRequest request = request_for(story, story);
  const auto replay = replay_run(request);
  REQUIRE(replay.has_value());
  CHECK(replay->nodes == 2);
  CHECK(replay->played == 2);
  CHECK(replay->simulated == 2);
  CHECK(replay->by_user == 1);
  CHECK_FALSE(replay->start_is_copied);
  for (const char* spent : {"starting", "detecting", "localizing", "ending"}) {
    CAPTURE(spent);
    CHECK(in_seconds(row(*replay, spent).simulated) ==
          doctest::Approx(in_seconds(row(*replay, spent).real)).epsilon(0.002));
  }
  // The report counts the first step of each restart here, the simulation among the lost steps.
  const double step = in_seconds(request.job.step.value);
  CHECK(in_seconds(row(*replay, "restarting").simulated) ==
        doctest::Approx(in_seconds(row(*replay, "restarting").real) - 2 * step).epsilon(0.002));
  // Of episodes of 9 and 17.18 s and a step, with checkpoints after each 4 s.
  CHECK(in_seconds(row(*replay, "recomputing").simulated) == doctest::Approx(1 + 1.18 + step));
  CHECK(in_seconds(row(*replay, "recomputing").real) == doctest::Approx(2 + 2));
  CHECK(100 * (replay->simulated_ettr - replay->real_ettr) ==
        doctest::Approx(100 * (4 - 2.18 + step) / 60.5).epsilon(0.01));
}

TEST_CASE("both columns sum to the run's time") {
  const Story story = two_deaths();
  const auto replay = replay_run(request_for(story, story));
  REQUIRE(replay.has_value());
  Nanos real{}, simulated{};
  for (const ReplayRow& one : replay->rows) {
    real += one.real;
    simulated += one.simulated;
  }
  CHECK(real == replay->duration);
  CHECK(simulated == replay->duration);
}

TEST_CASE("times come from the calibration, not from the replayed run") {
  const Story story = two_deaths();
  ReplayRequest request = request_for(story, story);
  request.times.stop.value = seconds(5);
  request.job.start.value = seconds(10);
  const auto replay = replay_run(request);
  REQUIRE(replay.has_value());
  CHECK(in_seconds(row(*replay, "restarting").simulated) > 2 * (5 + 10) - 0.1);
  CHECK(in_seconds(row(*replay, "restarting").real) == doctest::Approx(5.6).epsilon(0.01));
}

TEST_CASE("a failure strikes the machine in the place, also after a replacement") {
  // The core may have evicted the machine of the first failure; the second one strikes all the
  // same.
  const Story story = two_deaths();
  ReplayRequest request = request_for(story, story);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    request.seed = seed;
    CAPTURE(seed);
    CHECK(replay_run(request)->simulated == 2);
  }
}

TEST_CASE("a journal with too little content is refused with a sentence") {
  Story headless = two_deaths();
  headless.entries.erase(headless.entries.begin());
  const auto none = replay_run(request_for(headless, two_deaths()));
  REQUIRE_FALSE(none.has_value());
  CHECK(none.error().what.find("how it began") != std::string::npos);
  Story idle;
  idle.run({{"a", "10.0.0.1", 1}}).finish(500, 1);
  const auto untrained = replay_run(request_for(idle, two_deaths()));
  REQUIRE_FALSE(untrained.has_value());
  CHECK(untrained.error().what.find("never trained") != std::string::npos);
}

TEST_CASE("any part of a journal is replayed or refused") {
  const Story whole = two_deaths();
  for (std::size_t to = 0; to <= whole.entries.size(); ++to) {
    Story part;
    part.entries.assign(whole.entries.begin(),
                        whole.entries.begin() + static_cast<std::ptrdiff_t>(to));
    const auto replay = replay_run(request_for(part, whole));
    if (!replay) continue;
    CHECK(replay->simulated_ettr >= 0);
    CHECK(replay->simulated_ettr <= 1);
  }
}

}  // namespace
}  // namespace robustrun::simulator::replay_test
