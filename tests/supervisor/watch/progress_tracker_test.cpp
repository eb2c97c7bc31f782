// Marks of the whole group's progress, and when each node got there.
#include "supervisor/watch/progress_tracker.h"

#include <doctest/doctest.h>

namespace robustrun::supervisor::progress_tracker_test {
namespace {

using namespace std::chrono_literals;
using Mark = Progress::Mark;

wire::WorkerProgress reading(base::Nanos user_code, std::optional<base::Nanos> first_step) {
  wire::WorkerProgress progress;
  progress.attempt = {3};
  progress.user_code_at = user_code;
  progress.first_step_at = first_step;
  if (first_step) progress.steps = 1;
  return progress;
}

TEST_CASE("a mark is reached by the last rank, and tells when each node's last rank was there") {
  ProgressTracker tracker;
  tracker.begin_attempt({3}, 3);
  CHECK(tracker.take({0}, reading(10s, {}), {5}).empty());
  CHECK(tracker.take({2}, reading(14s, {}), {1}).empty());
  const auto marks = tracker.take({1}, reading(11s, 21s), {5});
  REQUIRE(marks.size() == 1);
  CHECK(marks[0].mark == Mark::kUserCode);
  CHECK(marks[0].reached_at == 14s);
  REQUIRE(marks[0].nodes.size() == 2);
  CHECK(marks[0].nodes[0].node == base::NodeId{1});
  CHECK(marks[0].nodes[0].at == 14s);
  CHECK(marks[0].nodes[1].node == base::NodeId{5});
  CHECK(marks[0].nodes[1].at == 11s);
  CHECK(tracker.take({2}, reading(14s, 20s), {1}).empty());
  const auto steps = tracker.take({0}, reading(10s, 30s), {5});
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].mark == Mark::kFirstStep);
  REQUIRE(steps[0].nodes.size() == 2);
  CHECK(steps[0].nodes[0].at == 20s);
  CHECK(steps[0].nodes[1].at == 30s);
  CHECK(tracker.newest().nodes.empty());  // summaries are of the group alone
}

TEST_CASE("the last of thousands of ranks makes the mark, whichever it is, also for catching up") {
  constexpr std::uint32_t kRanks = 4096;
  for (const std::uint32_t last : {0U, 1U, 2048U, kRanks - 1}) {
    ProgressTracker tracker;
    for (const std::uint32_t attempt : {3U, 4U}) {
      CAPTURE(last);
      CAPTURE(attempt);
      tracker.begin_attempt({attempt}, kRanks);
      std::size_t marks = 0;
      // Steps 1 to 3, each by all ranks but one, which follows after many readings of the others.
      for (std::int64_t step = 1; step <= 3; ++step) {
        wire::WorkerProgress progress = reading(1s, 2s);
        progress.attempt = {attempt};
        progress.step = step;
        for (std::uint32_t i = 0; i < kRanks; ++i) {
          const std::uint32_t rank = (i * 2053) % kRanks;  // in a mixed order
          if (rank != last) marks += tracker.take({rank}, progress).size();
        }
        CHECK(marks == (step == 1 ? 0 : 2));  // the last rank has not done this step yet
        const auto reached = tracker.take({last}, progress);
        marks += reached.size();
        if (step == 1) CHECK(reached.size() == 2);
        const bool catches_up = attempt == 4 && step == 3;
        CHECK((!reached.empty() && reached.back().mark == Mark::kCaughtUp) == catches_up);
      }
    }
  }
}

TEST_CASE("what an optimizer's state tells of earlier steps numbers those of a silent script") {
  ProgressTracker tracker;
  tracker.begin_attempt({3}, 2);
  wire::WorkerProgress one = reading(1s, 2s);
  one.steps = 7;
  one.steps_before = 100;
  tracker.take({0}, one);
  CHECK(tracker.step_of({0}) == 107);
  CHECK(tracker.steps_of({0}) == 7);
  CHECK_FALSE(tracker.step_of({1}));
  CHECK_FALSE(tracker.step_of({9}));
  CHECK_FALSE(tracker.newest().step);  // not of all ranks
  wire::WorkerProgress other = one;
  other.step = 42;  // the script's own word counts
  tracker.take({1}, other);
  CHECK(tracker.newest().step == 42);
  other.step.reset();
  other.steps_before = std::numeric_limits<std::uint64_t>::max();
  tracker.take({1}, other);
  CHECK_FALSE(tracker.step_of({1}));
}

TEST_CASE("a summary has the rank that has waited for data longest, also while it waits") {
  ProgressTracker tracker;
  tracker.begin_attempt({3}, 3);
  wire::WorkerProgress waited = reading(1s, 2s);
  waited.data_waited = 5s;
  tracker.take({0}, waited);
  waited.data_waited = 1s;
  waited.data_wait_since = 100s;
  waited.data_place = "source web";
  waited.data_skipped = 2;
  tracker.take({2}, waited);
  auto summary = tracker.summary(101s);
  REQUIRE(summary);
  CHECK(summary->data_waited == 5s);
  CHECK(summary->data_rank == base::Rank{0});
  CHECK(summary->data_skipped == 2);
  summary = tracker.summary(110s);  // nothing was read, but the wait lasts
  REQUIRE(summary);
  CHECK(summary->data_waited == 11s);
  CHECK(summary->data_rank == base::Rank{2});
  const auto wait = tracker.data_wait_of({2}, 110s);
  CHECK(wait.waited == 11s);
  CHECK(wait.lasting == 10s);
  CHECK(wait.place == "source web");
  CHECK(wait.skipped == 2);
  CHECK(tracker.data_wait_of({2}, 90s).lasting == 0s);  // clocks differ a little
  CHECK_FALSE(tracker.data_wait_of({7}, 110s).lasting);
  waited.data_wait_since.reset();
  tracker.take({2}, waited);
  REQUIRE(tracker.summary(110s));
  CHECK_FALSE(tracker.summary(120s));
}

TEST_CASE("a wait for data ends with its worker") {
  ProgressTracker tracker;
  tracker.begin_attempt({3}, 2);
  wire::WorkerProgress waits = reading(1s, 2s);
  waits.data_waited = 1s;
  waits.data_wait_since = 100s;
  tracker.take({1}, waits);
  REQUIRE(tracker.summary(103s));
  tracker.end({1}, 105s);
  tracker.end({7}, 105s);
  CHECK(tracker.data_wait_of({1}, 4000s).waited == 6s);
  CHECK_FALSE(tracker.data_wait_of({1}, 4000s).lasting);
  const auto summary = tracker.summary(4000s);
  REQUIRE(summary);
  CHECK(summary->data_waited == 6s);
  tracker.end({1}, 200s);  // told again
  CHECK_FALSE(tracker.summary(5000s));
}

TEST_CASE("the last rank's metrics are the job's if its output has them and rank 0 has none") {
  ProgressTracker tracker;
  tracker.begin_attempt({3}, 4);
  wire::WorkerProgress last = reading(1s, 2s);
  last.lines = 1;
  last.metrics = {{"loss", 2.5}};
  tracker.take({3}, last);
  CHECK(tracker.speaker() == base::Rank{3});
  CHECK(tracker.newest().metric_values == std::vector<double>{2.5});
  wire::WorkerProgress first = reading(1s, 2s);
  first.metrics = {{"loss", 3.5}};
  tracker.take({0}, first);
  CHECK(tracker.speaker() == base::Rank{0});
  CHECK(tracker.newest().metric_values == std::vector<double>{3.5});
}

}  // namespace
}  // namespace robustrun::supervisor::progress_tracker_test
