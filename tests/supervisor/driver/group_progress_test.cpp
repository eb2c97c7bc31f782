// Readings of workers become events of the group, and the journal has them before what follows.
#include "supervisor/driver/group_progress.h"

#include <doctest/doctest.h>

#include <optional>
#include <utility>
#include <vector>

#include "supervisor/limits.h"
#include "tests/supervisor/agents/fake_nodes.h"
#include "tests/support/captured_log.h"
#include "tests/support/loop.h"

namespace robustrun::supervisor::test::group_progress_test {
namespace {

using namespace std::chrono_literals;
using Mark = Progress::Mark;

constexpr base::Attempt kAttempt{3};

struct Group {
  explicit Group(std::optional<std::uint64_t> goal = {}, bool reads_lines = false) {
    progress.emplace(
        loop.executor(), clock, nodes.table, goal, reads_lines,
        GroupProgress::Hands{[] { return kAttempt; }, [] { return std::vector<Bandwidth>(1); },
                             [this](EventBody event, base::NodeId node) {
                               events.emplace_back(std::move(event), node);
                             }});
    progress->begin_attempt(kAttempt, 4, clock.time);
  }
  void read(std::uint32_t node, std::uint32_t local, std::uint64_t steps,
            base::Attempt attempt = kAttempt) {
    wire::WorkerProgress reading;
    reading.attempt = attempt;
    reading.local_rank = {local};
    reading.steps = steps;
    reading.user_code_at = 1s;
    if (steps > 0) reading.first_step_at = 2s;
    progress->on_report({node}, reading);
  }
  void all_read(std::uint64_t steps) {
    for (const std::uint32_t node : {0, 1}) {
      for (const std::uint32_t local : {0, 1}) read(node, local, steps);
    }
  }
  template <class Event>
  [[nodiscard]] std::vector<std::pair<Event, base::NodeId>> found() const {
    std::vector<std::pair<Event, base::NodeId>> all;
    for (const auto& [event, node] : events) {
      if (const auto* one = std::get_if<Event>(&event)) all.emplace_back(*one, node);
    }
    return all;
  }

  robustrun::test::CapturedLog log;
  robustrun::test::Loop loop{};
  SetClock clock;
  FakeNodes nodes{2};
  std::vector<std::pair<EventBody, base::NodeId>> events;
  std::optional<GroupProgress> progress;
};

TEST_CASE("a mark has the time of our clock, and the node that reached it last") {
  Group group;
  group.nodes.table[{1}].clock_offset = 10s;
  group.all_read(0);
  const auto marks = group.found<Progress>();
  REQUIRE(marks.size() == 1);
  CHECK(marks[0].first.mark == Mark::kUserCode);
  CHECK(marks[0].first.reached_at == 11s);
  CHECK(marks[0].second == base::NodeId{1});
}

TEST_CASE("readings of another attempt, and of workers that the group has not, do not count") {
  Group group;
  for (const std::uint32_t node : {0, 1}) {
    for (const std::uint32_t local : {0, 1}) group.read(node, local, 5, {2});
  }
  group.read(1, 2, 5);
  CHECK(group.events.empty());
  CHECK(group.progress->readings().furthest() == 0);
}

TEST_CASE("the newest state is journaled once, with the bandwidth of the attempt") {
  Group group;
  group.all_read(5);
  group.events.clear();
  group.read(0, 0, 6);
  group.progress->journal_steps({1});
  group.progress->journal_steps({1});
  const auto marks = group.found<Progress>();
  REQUIRE(marks.size() == 1);
  CHECK(marks[0].first.mark == Mark::kSummary);
  CHECK(marks[0].first.bandwidth.size() == 1);
  CHECK(marks[0].second == base::NodeId{1});
}

TEST_CASE("the goal of steps is reported once per attempt, after the state that reached it") {
  Group group(6);
  group.all_read(5);
  CHECK(group.found<StepGoalReached>().empty());
  group.all_read(6);
  group.all_read(7);
  REQUIRE(group.found<StepGoalReached>().size() == 1);
  CHECK(group.found<StepGoalReached>()[0].first.steps == 6);
  std::size_t at = 0;
  while (!std::holds_alternative<StepGoalReached>(group.events[at].first)) ++at;
  REQUIRE(at > 0);
  const auto* before = std::get_if<Progress>(&group.events[at - 1].first);
  REQUIRE(before != nullptr);
  CHECK(before->steps == 6);
  group.progress->begin_attempt(kAttempt, 4, group.clock.time);
  group.all_read(6);
  CHECK(group.found<StepGoalReached>().size() == 2);
}

TEST_CASE("notes about checkpoints that are held back are journaled with the rest") {
  Group group;
  for (std::uint64_t step = 1; step <= 3; ++step) {
    wire::CheckpointNote note;
    note.attempt = kAttempt;
    note.event = wire::CheckpointNote::Event::kSaved;
    note.step = step;
    note.count = step;
    group.progress->on_report({1}, note);
  }
  REQUIRE(group.found<CheckpointNoted>().size() == 1);
  CHECK(group.found<CheckpointNoted>()[0].second == base::NodeId{1});
  group.progress->journal_all();
  REQUIRE(group.found<CheckpointNoted>().size() == 2);
  CHECK(group.found<CheckpointNoted>()[1].first.id.step == 3);
}

TEST_CASE("the last step of the furthest rank is known by our clock, and the speed") {
  Group group;
  group.progress->watch();
  CHECK_FALSE(group.progress->stepped_at());
  group.all_read(1);
  group.progress->watch();
  CHECK(group.progress->stepped_at() == group.clock.time);
  const base::Nanos first = group.clock.time;
  group.clock.time += 2s;
  group.progress->watch();
  CHECK(group.progress->stepped_at() == first);
  group.all_read(9);
  group.progress->watch();
  CHECK(group.progress->stepped_at() == first + 2s);
  CHECK(group.progress->steps_per_second() == 4.0);
}

TEST_CASE("that no line held a metric is logged once, if lines are read") {
  for (const bool reads_lines : {false, true}) {
    Group group({}, reads_lines);
    group.all_read(1);
    group.clock.time += kUnmatchedTimeMax + 2s;
    group.progress->watch();
    const std::string text = group.log.text();
    CHECK(text.empty() != reads_lines);
    group.progress->watch();
    CHECK(group.log.text() == text);
  }
}

}  // namespace
}  // namespace robustrun::supervisor::test::group_progress_test
