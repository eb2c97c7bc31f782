// What ranks say of checkpoints, as few events of the group; and what the report makes of those.
#include "supervisor/watch/checkpoint_watch.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>

#include "supervisor/core/report/render.h"
#include "supervisor/core/report/report.h"
#include "supervisor/core/status/render.h"
#include "supervisor/core/status/status.h"
#include "supervisor/limits.h"
#include "tests/supervisor/report_scenarios.h"

namespace robustrun::supervisor::checkpoint_watch_test {
namespace {

using What = CheckpointNoted::What;
using Event = wire::CheckpointNote::Event;
using std::chrono::milliseconds;

constexpr base::Nanos kBegan = std::chrono::seconds(20);
constexpr base::Nanos kNow = std::chrono::seconds(50);

wire::CheckpointNote note(Event event, std::uint64_t step, std::uint64_t count = 1,
                          std::int64_t blocking_ms = 10) {
  wire::CheckpointNote one;
  one.attempt = {1};
  one.event = event;
  one.step = step;
  one.generation = 2;
  one.token = "ab";
  one.directories = {"/data"};
  one.count = count;
  one.bytes = 100 * count;
  one.blocking = milliseconds(blocking_ms) * static_cast<int>(count);
  one.blocking_median = milliseconds(blocking_ms);
  one.blocking_most = milliseconds(2 * blocking_ms);
  return one;
}

CheckpointWatch watch_of_three() {
  CheckpointWatch watch;
  watch.begin_attempt({1}, 3, kBegan);
  return watch;
}

TEST_CASE("saves: at once, then one in an interval, with the rank that waited longest") {
  CheckpointWatch watch = watch_of_three();
  CHECK(watch.take({0}, {0}, note(Event::kSaved, 5), kNow).size() == 1);
  CHECK(watch.take({1}, {0}, note(Event::kSaved, 5, 1, 30), kNow).empty());
  CHECK(watch.take({2}, {1}, note(Event::kSaved, 5, 1, 20), kNow).empty());
  const auto news =
      watch.take({0}, {0}, note(Event::kSaved, 6, 2), kNow + kCheckpointEventInterval);
  REQUIRE(news.size() == 1);
  const CheckpointNoted& event = news[0].event;
  CHECK(event.what == What::kSaved);
  CHECK(event.attempt == base::Attempt{1});
  CHECK(event.id == CheckpointId{6, 2, "ab"});
  CHECK(event.ranks == 3);
  CHECK(event.count == 2);
  CHECK(event.bytes == 400);
  CHECK(event.blocking == milliseconds(30));
  CHECK(event.blocking_median == milliseconds(30));
  CHECK(event.blocking_most == milliseconds(60));
  CHECK(watch.rest().empty());
}

TEST_CASE("commits: the newest, from any rank in any order, and how many") {
  CheckpointWatch watch = watch_of_three();
  CHECK(watch.take({0}, {0}, note(Event::kCommitted, 5), kNow).size() == 1);
  CHECK(watch.take({2}, {1}, note(Event::kCommitted, 7), kNow).empty());
  CHECK(watch.take({1}, {0}, note(Event::kCommitted, 6, 2), kNow).empty());
  const auto news = watch.rest();
  REQUIRE(news.size() == 1);
  CHECK(news[0].event.id.step == 7);
  CHECK(news[0].event.count == 4);
  CHECK(news[0].event.ranks == 3);
  CHECK(watch.rest().empty());
}

TEST_CASE("the longest save or commit that has an end is kept") {
  CheckpointWatch watch = watch_of_three();
  CHECK(watch.take({0}, {0}, note(Event::kSaved, 5), kNow)[0].event.total_most == milliseconds(0));
  wire::CheckpointNote long_one = note(Event::kSaved, 6, 2);
  long_one.total = milliseconds(900);
  CHECK(watch.take({1}, {0}, long_one, kNow).empty());
  wire::CheckpointNote load = note(Event::kLoaded, 6);
  load.total = milliseconds(5000);
  watch.take({1}, {0}, load, kNow);
  wire::CheckpointNote commit = note(Event::kCommitted, 6);
  commit.total = milliseconds(700);
  CHECK(watch.take({2}, {1}, commit, kNow)[0].event.total_most == milliseconds(900));
  const auto news = watch.rest();
  REQUIRE(news.size() == 1);
  CHECK(news[0].event.what == What::kSaved);
  CHECK(news[0].event.total_most == milliseconds(900));
}

TEST_CASE("no save is longer than its attempt, whatever a worker says") {
  CheckpointWatch watch = watch_of_three();
  wire::CheckpointNote wrong = note(Event::kSaved, 5);
  wrong.total = base::Nanos(std::int64_t{1} << 60);
  CHECK(watch.take({0}, {0}, wrong, kNow)[0].event.total_most == kNow - kBegan);
  wrong.event = Event::kCommitted;
  const auto later = kNow + std::chrono::seconds(7);
  CHECK(watch.take({0}, {0}, wrong, later)[0].event.total_most == later - kBegan);
}

TEST_CASE("loads: each checkpoint and source at once, and further readers at the end") {
  CheckpointWatch watch = watch_of_three();
  CHECK(watch.take({0}, {0}, note(Event::kLoaded, 5), kNow).size() == 1);
  CHECK(watch.take({1}, {0}, note(Event::kLoaded, 5), kNow).empty());
  CHECK(watch.take({1}, {0}, note(Event::kLoaded, 5), kNow).empty());
  wire::CheckpointNote other = note(Event::kLoaded, 5);
  other.source = "memory";
  CHECK(watch.take({2}, {1}, other, kNow).size() == 1);
  const auto news = watch.rest();
  REQUIRE(news.size() == 1);
  CHECK(news[0].event.ranks == 2);
  for (std::uint64_t step = 10; step < 10 + 2 * kLoadsMax; ++step) {
    watch.take({0}, {0}, note(Event::kLoaded, step), kNow);
  }
  CHECK(watch.take({0}, {0}, note(Event::kLoaded, 999), kNow).empty());
}

TEST_CASE("what is of another attempt, or of no rank, gives nothing") {
  CheckpointWatch watch = watch_of_three();
  wire::CheckpointNote old = note(Event::kSaved, 5);
  old.attempt = {0};
  CHECK(watch.take({0}, {0}, old, kNow).empty());
  CHECK(watch.take({3}, {0}, note(Event::kSaved, 5), kNow).empty());
  watch.take({0}, {0}, note(Event::kSaved, 5), kNow);
  watch.begin_attempt({2}, 3, kNow);
  CHECK(watch.rest().empty());
}

// Two attempts: saved and committed, failed, resumed from an older one that was then set aside.
std::vector<JournalEntry> two_attempts() {
  const auto noted = [](std::uint32_t attempt, What what, std::uint64_t step, std::uint64_t count,
                        std::int64_t median_ms) {
    CheckpointNoted event{{attempt}, what, {step, 1, "a"}, {"/data"}, {}};
    event.ranks = 2;
    event.count = count;
    event.bytes = 1000 * count;
    event.blocking = milliseconds(median_ms) * static_cast<int>(count);
    event.blocking_median = milliseconds(median_ms);
    event.blocking_most = milliseconds(median_ms + 1);
    if (what == What::kLoaded) event.source = "disk";
    return event;
  };
  std::vector<JournalEntry> entries = scenarios::recovered().entries;
  const JournalEntry last = entries.back();
  entries.pop_back();
  const auto add = [&](CheckpointNoted event) {
    entries.push_back({last.at, supervisor::Event{last.at, {0}, {1}, std::move(event)}});
  };
  add(noted(0, What::kSaved, 10, 1, 5));
  add(noted(0, What::kSaved, 30, 3, 10));
  add(noted(0, What::kCommitted, 20, 2, 0));
  add(noted(1, What::kLoaded, 20, 1, 0));
  add(noted(1, What::kSaved, 40, 1, 50));
  add(noted(1, What::kCommitted, 40, 1, 0));
  entries.push_back(
      {last.at, Decision{Rule::kCheckpointPoisoned, {1}, "step 20 is set aside", {}, {}, {}, {}}});
  entries.push_back(last);
  return entries;
}

TEST_CASE("the report sums attempts up, and tells what each incident cost beyond the last commit") {
  const RunReport report = build_report(two_attempts());
  REQUIRE(report.checkpoints);
  CHECK(report.checkpoints->saves == 4);
  CHECK(report.checkpoints->committed == 3);
  CHECK(report.checkpoints->last_committed_step == 40U);
  CHECK(report.checkpoints->bytes == 4000);
  CHECK(report.checkpoints->blocking == milliseconds(80));
  CHECK(report.checkpoints->blocking_median == milliseconds(10));
  CHECK(report.checkpoints->blocking_most == milliseconds(51));
  REQUIRE(report.checkpoints->loads.size() == 1);
  CHECK(report.checkpoints->loads[0].attempt == 1);
  CHECK(report.checkpoints->loads[0].source == "disk");
  CHECK(report.checkpoints->set_aside == std::vector<std::string>{"step 20 is set aside"});
  REQUIRE(!report.incidents.empty());
  const Incident& incident = report.incidents[0];
  CHECK(incident.committed_step == 20U);
  CHECK(incident.loaded_step == 20U);
  CHECK(incident.loaded_from == "disk");
  REQUIRE(incident.step_before);
  CHECK(incident.steps_since_commit == std::max<std::int64_t>(0, *incident.step_before - 20));
  const std::string text = render_report(report, {false, 200, Detail::kFull});
  CHECK(text.find("4 saved, 3 committed, the last at step 40; 4 kB written; the job waited "
                  "80 ms for them: 10 ms for one (median), 51 ms at most") != std::string::npos);
  CHECK(text.find("training went on from step 20, from disk") != std::string::npos);
}

TEST_CASE("the report tells how many ranks of lost nodes were saved from others' memory") {
  std::vector<JournalEntry> entries = two_attempts();
  CHECK(saved_copies_words(*build_report(entries).checkpoints).empty());
  const JournalEntry last = entries.back();
  entries.pop_back();
  const auto add = [&](std::uint32_t saved, std::vector<std::string> errors) {
    HeldCopiesSaved answer{{0}, 1, saved, std::move(errors)};
    entries.push_back({last.at, supervisor::Event{last.at, {0}, {1}, std::move(answer)}});
  };
  add(2, {});
  add(1, {"disk full"});
  entries.push_back({last.at, Decision{Rule::kCopiesLost, {1}, "they are gone", {}, {}, {}, {}}});
  entries.push_back(last);
  const RunReport report = build_report(entries);
  REQUIRE(report.checkpoints);
  CHECK(report.checkpoints->copies_saved == 3);
  CHECK(report.checkpoints->copies_not_saved == 1);
  CHECK(report.checkpoints->copies_lost == std::vector<std::string>{"they are gone"});
  CHECK(saved_copies_words(*report.checkpoints) ==
        "3 copies saved from the memory of other nodes, 1 not");
}

TEST_CASE(
    "without a word of checkpoints the report has none, and status tells what was committed") {
  CHECK_FALSE(build_report(scenarios::recovered().entries).checkpoints);
  CHECK(report_json(RunReport{}).find("\"checkpoints\":null") != std::string::npos);
  const RunStatus status = status_of_journal(two_attempts());
  CHECK(status.committed_step == 40U);
  CHECK(status.loaded_step == 20U);
  CHECK(render_status(status, false, 200, 10).find("step 40 is committed") != std::string::npos);
}

}  // namespace
}  // namespace robustrun::supervisor::checkpoint_watch_test
