#include "supervisor/core/status/save_times.h"

#include <doctest/doctest.h>

#include <csignal>

#include "supervisor/core/status/fold.h"
#include "tests/supervisor/story.h"

namespace robustrun::supervisor::save_times_test {
namespace {

using namespace scenarios;
using namespace std::chrono_literals;

Story two_nodes() {
  Story story;
  story.run({{"n1", "10.0.0.1", 1}, {"n2", "10.0.0.2", 1}});
  return story.start(100, 0, 2);
}

Story two_nodes_in_step() {
  Story story = two_nodes();
  return story.progress(5000, 0, Progress::Mark::kFirstStep, 5000, 1);
}

WorkersGone gone(std::uint32_t attempt = 0) {
  WorkersGone body;
  body.attempt = base::Attempt{attempt};
  return body;
}

CheckpointNoted noted(base::Nanos total) {
  CheckpointNoted body;
  body.total_most = total;
  return body;
}

LongestSaves longest(const Story& story) {
  SaveTimes times;
  for (const JournalEntry& entry : story.entries) times.take(entry);
  return times.longest();
}

base::Nanos longest_stop(const Story& story) {
  CHECK_FALSE(longest(story).reported);
  return longest(story).stop;
}

TEST_CASE("the longest save that workers reported counts") {
  Story story = two_nodes_in_step();
  CHECK_FALSE(longest(story).reported);
  story.event(6000, noted(0s));  // a copy in memory, without an end
  CHECK_FALSE(longest(story).reported);
  story.event(7000, noted(41s)).event(8000, noted(3s));
  CHECK(longest(story).reported == base::Nanos(41s));
  CHECK(longest(story).stop == base::Nanos());
}

TEST_CASE("a stop before which workers save counts until the last of them has ended") {
  for (const Rule rule : {Rule::kSignal, Rule::kPreempted, Rule::kTimeLimit, Rule::kStepGoal,
                          Rule::kNodeLeft, Rule::kSlowEvicted}) {
    CAPTURE(rule_word(rule));
    Story story = two_nodes_in_step();
    story.decide(10'000, rule, 0, "stopping").event(14'000, gone(), 0).event(22'000, gone(), 1);
    CHECK(longest_stop(story) == base::Nanos(12s));
    // A second signal while they save begins no other stop.
    Story again = two_nodes_in_step();
    again.decide(10'000, rule, 0, "stopping").decide(20'000, Rule::kSignal, 0, "stopping already");
    again.event(22'000, gone(), 1);
    CHECK(longest_stop(again) == base::Nanos(12s));
  }
}

TEST_CASE("other ends of workers say nothing about saves") {
  Story failed = two_nodes_in_step();
  failed.decide(10'000, Rule::kWorkerFailed, 0, "rank 1 failed").event(22'000, gone(), 0);
  CHECK(longest_stop(failed) == base::Nanos());
  Story early = two_nodes();  // no step was done yet
  early.decide(10'000, Rule::kSignal, 0, "stopping").event(11'000, gone(), 0);
  CHECK(longest_stop(early) == base::Nanos());
  Story killed = two_nodes_in_step();
  killed.decide(10'000, Rule::kSignal, 0, "stopping");
  killed.decide(12'000, Rule::kSecondSignal, 0, "killing all workers").event(13'000, gone(), 0);
  CHECK(longest_stop(killed) == base::Nanos());
  Story next = two_nodes_in_step();
  next.decide(10'000, Rule::kNodeLeft, 0, "n1 is left").event(13'000, gone(), 0);
  next.start(20'000, 1, 2).event(50'000, gone(1), 0);
  CHECK(longest_stop(next) == base::Nanos(3s));
}

TEST_CASE("a stop is no longer than the workers' time, and each node ends once") {
  // n2 could not be reached for an hour.
  Story late = two_nodes_in_step();
  late.decide(10'000, Rule::kNodeLeft, 0, "n1 is left").event(14'000, gone(), 0);
  late.event(3'614'000, gone(), 1);
  CHECK(longest_stop(late) == Deadlines{}.shutdown_grace);
  Story repeated = two_nodes_in_step();
  repeated.decide(10'000, Rule::kSignal, 0, "stopping").event(14'000, gone(), 0);
  repeated.event(25'000, gone(), 0);
  CHECK(longest_stop(repeated) == base::Nanos(4s));
  Story before = two_nodes_in_step();
  before.event(8'000, gone(), 0).decide(10'000, Rule::kSignal, 0, "stopping");
  before.event(25'000, gone(), 0);
  CHECK(longest_stop(before) == base::Nanos());
}

TEST_CASE("a stop by a signal with a time of its own is no longer than that") {
  for (const base::Nanos grace : {base::Nanos(5s), base::Nanos(90s)}) {
    CAPTURE(grace.count());
    Story story = two_nodes_in_step();
    SignalReceived signal{SIGTERM, false, grace};
    story.event(10'000, signal).decide(10'000, Rule::kTimeLimit, 0, "stopping");
    story.event(110'000, gone(), 0);
    CHECK(longest_stop(story) == grace);
  }
}

TEST_CASE("late ends of an earlier attempt are no part of this one's stop") {
  Story story = two_nodes_in_step();
  story.decide(10'000, Rule::kWorkerFailed, 0, "rank 1 failed").event(12'000, gone(), 0);
  story.start(20'000, 1, 2).progress(25'000, 1, Progress::Mark::kFirstStep, 25'000, 1);
  story.decide(30'000, Rule::kSignal, 1, "stopping").event(33'000, gone(1), 0);
  story.event(45'000, gone(0), 1);
  CHECK(longest_stop(story) == base::Nanos(3s));
  story.event(37'000, gone(1), 1);
  CHECK(longest_stop(story) == base::Nanos(7s));
}

TEST_CASE("a supervisor that takes over, and a later start, know them as well") {
  Story story = two_nodes_in_step();
  story.event(7000, noted(41s));
  const auto folded = fold(story.entries);
  REQUIRE(folded);
  CHECK(folded->saves.longest().reported == base::Nanos(41s));
  SaveTimes later;
  later.add(SaveTimes());
  CHECK_FALSE(later.longest().reported);
  later.add(folded->saves);
  CHECK(later.longest().reported == base::Nanos(41s));
}

}  // namespace
}  // namespace robustrun::supervisor::save_times_test
