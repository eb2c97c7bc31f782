// The stages of a start: of one worker by its record, of a node, and when they are reported.
#include "agent/node/stage_clock.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace stage_clock_test {

using namespace robustrun;
using agent::StageClock;
using agent::WorkerMoments;
using base::LocalRank;
using base::Nanos;
using wire::StageName;
using wire::StageTime;

namespace {

constexpr Nanos kLaunched = std::chrono::hours(50);

Nanos at(std::int64_t ms) { return kLaunched + std::chrono::milliseconds(ms); }
std::int64_t in_ms(Nanos moment) {
  return std::chrono::duration_cast<std::chrono::milliseconds>(moment).count();
}

class HandClock final : public base::Clock {
 public:
  [[nodiscard]] Nanos now() const override { return time; }
  [[nodiscard]] Nanos wall_time() const override { return time; }
  Nanos time = kLaunched;
};

// "imports 0-1500:1500": begin, end and duration, in ms after the launch; "-": not over.
std::vector<std::string> shown(const std::vector<StageTime>& stages) {
  static const char* const kNames[] = {"allocate", "connect", "image", "environment", "imports",
                                       "group",    "model",   "load",  "step"};
  std::vector<std::string> lines;
  for (const StageTime& one : stages) {
    const std::string end = one.end == Nanos{} ? "-" : std::to_string(in_ms(one.end - kLaunched));
    lines.push_back(fmt::format("{} {}..{} {}{}", kNames[static_cast<std::size_t>(one.stage)],
                                in_ms(one.begin - kLaunched), end, in_ms(one.took),
                                one.slowest ? fmt::format(" r{}", one.slowest->value) : ""));
  }
  return lines;
}

using Lines = std::vector<std::string>;

// A training in its usual order: imports, group, model and optimizer, load, first step.
WorkerMoments trained() {
  WorkerMoments worker;
  worker.launched = kLaunched;
  worker.user_code_at = at(50);
  worker.marks.imports_done_at = at(2000);
  worker.marks.group_begin_at = at(2100);
  worker.marks.group_done_at = at(2500);
  worker.marks.optimizer_at = at(4000);
  worker.marks.load_begin_at = at(4100);
  worker.marks.load_done_at = at(4600);
  worker.first_step_at = at(6000);
  return worker;
}

}  // namespace

TEST_CASE("a training's stages follow each other; a gap belongs to the later stage") {
  CHECK(shown(agent::worker_stages(trained(), at(9000))) ==
        Lines{"imports 0..2000 2000", "group 2100..2500 400", "model 2500..4000 1500",
              "load 4100..4600 500", "step 4600..6000 1400"});
}

TEST_CASE("a load while the model is made is not counted twice") {
  WorkerMoments worker = trained();
  worker.marks.load_begin_at = at(3000);
  worker.marks.load_done_at = at(3600);
  CHECK(shown(agent::worker_stages(worker, at(9000))) ==
        Lines{"imports 0..2000 2000", "group 2100..2500 400", "model 2500..4000 900",
              "load 3000..3600 600", "step 4000..6000 2000"});
}

TEST_CASE("a stage that has not ended lasts until now, and later stages are not reported") {
  WorkerMoments worker;
  worker.launched = kLaunched;
  const auto now = [&] { return shown(agent::worker_stages(worker, at(7000))); };
  CHECK(now() == Lines{"imports 0..- 7000"});
  worker.user_code_at = at(50);
  CHECK(now() == Lines{"imports 0..50 50"});  // no import is under way, until now
  worker.marks.imports_done_at = Nanos(1);
  CHECK(now() == Lines{"imports 0..- 7000"});
  worker.marks.imports_done_at = at(2000);
  CHECK(now() == Lines{"imports 0..2000 2000"});
  worker.marks.group_begin_at = at(2100);
  CHECK(now() == Lines{"imports 0..2000 2000", "group 2100..- 4900"});
  worker.marks.group_done_at = at(2500);
  CHECK(now() == Lines{"imports 0..2000 2000", "group 2100..2500 400", "model 2500..- 4500"});
  worker.marks.load_begin_at = at(3000);
  CHECK(now().back() == "load 3000..- 4000");
  worker.marks.load_done_at = at(3500);
  worker.marks.optimizer_at = at(4000);
  CHECK(now().back() == "step 4000..- 3000");
}

TEST_CASE("a program without a group or torch has the stages that can be seen") {
  WorkerMoments worker;
  worker.launched = kLaunched;
  worker.user_code_at = at(50);
  worker.first_step_at = at(900);
  CHECK(shown(agent::worker_stages(worker, at(7000))) ==
        Lines{"imports 0..50 50", "step 50..900 850"});
  worker.marks.optimizer_at = at(600);
  CHECK(shown(agent::worker_stages(worker, at(7000))) ==
        Lines{"imports 0..50 50", "model 50..600 550", "step 600..900 300"});
}

TEST_CASE("whatever a record says, a stage ends after it began and lies between launch and now") {
  const unsigned seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 dice(seed);
  const auto draw = [&]() -> std::optional<Nanos> {
    switch (dice() % 6) {
      case 0: return std::nullopt;
      case 1: return Nanos(1);
      case 2: return Nanos(std::numeric_limits<Nanos::rep>::max());
      case 3: return Nanos(static_cast<Nanos::rep>(dice() >> 1U));
      default: return at(static_cast<std::int64_t>(dice() % 12000) - 1000);
    }
  };
  for (int i = 0; i < 20000; ++i) {
    const WorkerMoments worker{
        kLaunched, draw(), draw(), {draw(), draw(), draw(), draw(), draw(), draw()}};
    const Nanos now = at(9000);
    std::optional<StageName> before;
    for (const StageTime& one : agent::worker_stages(worker, now)) {
      CHECK_FALSE((before && *before >= one.stage));
      before = one.stage;
      const Nanos end = one.end == Nanos{} ? now : one.end;
      CHECK(one.begin >= kLaunched);
      CHECK(end <= now);
      CHECK(one.took >= Nanos{});
      CHECK(one.took <= end - one.begin);
    }
  }
}

TEST_CASE("a node's stage lasts as long as its slowest worker's, and is reported once") {
  HandClock clock;
  StageClock stages(clock);
  stages.begin_attempt({3}, 2);
  WorkerMoments slow = trained();
  slow.marks.imports_done_at = at(2050);
  stages.take(LocalRank{0}, trained());
  clock.time = at(7000);
  CHECK_FALSE(stages.due());  // the other one has not even begun
  WorkerMoments early = slow;
  early.first_step_at.reset();
  stages.take(LocalRank{1}, early);
  CHECK_FALSE(stages.due());
  stages.take(LocalRank{1}, slow);
  const auto report = stages.due();
  REQUIRE(report);
  CHECK(report->attempt == base::Attempt{3});
  CHECK(shown(report->stages) == Lines{"imports 0..2050 2050 r1", "group 2100..2500 400 r0",
                                       "model 2500..4000 1500 r0", "load 4100..4600 500 r0",
                                       "step 4600..6000 1400 r0"});
  CHECK_FALSE(stages.due());
  CHECK_FALSE(stages.end_attempt());
}

TEST_CASE("an attempt that ends before its first step reports where each rank was") {
  HandClock clock;
  StageClock stages(clock);
  stages.begin_attempt({0}, 2);
  WorkerMoments stuck = trained();
  stuck.first_step_at.reset();
  stuck.marks = {at(2000), at(2100), {}, {}, {}, {}};
  stages.take(LocalRank{0}, trained());
  stages.take(LocalRank{1}, stuck);
  clock.time = at(8000);
  const auto report = stages.end_attempt();
  REQUIRE(report);
  CHECK(shown(report->stages) == Lines{"imports 0..2000 2000 r0", "group 2100..- 5900 r1",
                                       "model 2500..4000 1500 r0", "load 4100..4600 500 r0",
                                       "step 4600..6000 1400 r0"});
}

TEST_CASE("a start that takes longer than a limit is reported once before it is over") {
  HandClock clock;
  StageClock stages(clock);
  stages.begin_attempt({0}, 1);
  WorkerMoments slow = trained();
  slow.first_step_at.reset();
  stages.take(LocalRank{0}, slow);
  clock.time = kLaunched + agent::kStagesReportedAfter - Nanos(1);
  CHECK_FALSE(stages.due());
  clock.time += Nanos(1);
  REQUIRE(stages.due());
  clock.time += agent::kStagesReportedAfter;
  CHECK_FALSE(stages.due());
  slow.first_step_at = clock.time;
  stages.take(LocalRank{0}, slow);
  const auto last = stages.due();
  REQUIRE(last);
  CHECK(last->stages.back().end == clock.time);
}

TEST_CASE("stages of the agent belong to the attempt that they prepare") {
  HandClock clock;
  StageClock stages(clock);
  stages.end(StageName::kImage);  // not begun
  stages.begin(StageName::kImage);
  clock.time = at(100);
  stages.begin(StageName::kEnvironment);
  stages.end(StageName::kImage);
  clock.time = at(300);
  stages.begin_attempt({0}, 0);
  clock.time = at(400);
  const auto first = stages.end_attempt();
  REQUIRE(first);
  CHECK(shown(first->stages) == Lines{"image 0..100 100", "environment 100..- 300"});
  stages.begin(StageName::kImage);
  clock.time = at(450);
  stages.end(StageName::kImage);
  stages.begin_attempt({1}, 0);
  const auto second = stages.end_attempt();
  REQUIRE(second);
  CHECK(shown(second->stages) == Lines{"image 400..450 50"});
  stages.begin_attempt({2}, 0);
  CHECK_FALSE(stages.end_attempt());
}

TEST_CASE("a stage of several parts lasts while some part of it is under way") {
  using agent::StagePart;
  HandClock clock;
  StageClock stages(clock);
  stages.begin(StageName::kEnvironment, StagePart::kCode);
  clock.time = at(10);
  stages.begin(StageName::kEnvironment, StagePart::kFiles);
  clock.time = at(30);
  stages.end(StageName::kEnvironment, StagePart::kCode);
  stages.end(StageName::kEnvironment, StagePart::kCode);  // not begun
  clock.time = at(40);
  stages.begin(StageName::kEnvironment, StagePart::kFiles);  // tried again
  clock.time = at(50);
  stages.end(StageName::kEnvironment, StagePart::kFiles);
  CHECK_FALSE(stages.news());
  clock.time = at(900);  // an image that the dependencies wait for
  stages.begin(StageName::kEnvironment);
  const auto news = stages.news();
  REQUIRE(news);
  CHECK(news->since == at(900));
  clock.time = at(970);
  stages.begin_attempt({0}, 0);
  CHECK(shown(stages.end_attempt()->stages) == Lines{"environment 0..- 120"});
}

TEST_CASE("imports that workers share are the first part of their imports") {
  HandClock clock;
  StageClock stages(clock);
  clock.time = at(-700);
  stages.begin_attempt({0}, 1);
  stages.begin(StageName::kImports);
  CHECK(stages.news()->stage == StageName::kImports);
  clock.time = kLaunched;
  stages.end(StageName::kImports);
  stages.take(LocalRank{0}, trained());
  clock.time = at(5000);
  const auto alone = [&] {
    StageClock others(clock);
    others.begin_attempt({0}, 1);
    others.take(LocalRank{0}, trained());
    return others.due()->stages.front();
  }();
  const auto shared = stages.due()->stages.front();
  CHECK(shared.stage == StageName::kImports);
  CHECK(shared.begin == at(-700));
  CHECK(shared.end == alone.end);
  CHECK(shared.took == alone.took + std::chrono::milliseconds(700));
}

TEST_CASE("the current stage is reported as it changes, of the rank that is furthest behind") {
  HandClock clock;
  StageClock stages(clock);
  CHECK_FALSE(stages.news());
  stages.begin(StageName::kImage);
  auto news = stages.news();
  REQUIRE(news);
  CHECK(news->stage == StageName::kImage);
  CHECK(news->since == kLaunched);
  CHECK_FALSE(news->rank);
  CHECK_FALSE(stages.news());  // reported already
  clock.time += std::chrono::seconds(2);
  stages.end(StageName::kImage);
  stages.begin_attempt(base::Attempt{1}, 2);
  news = stages.news();
  REQUIRE(news);
  CHECK_FALSE(news->stage);  // no stage with a name
  stages.take(LocalRank{0}, trained());
  WorkerMoments slow;
  slow.launched = kLaunched;
  stages.take(LocalRank{1}, slow);
  CHECK_FALSE(stages.news());  // too soon after the last one
  clock.time += agent::kStageNewsEvery;
  news = stages.news();
  REQUIRE(news);
  CHECK(news->attempt == base::Attempt{1});
  CHECK(news->stage == StageName::kImports);
  CHECK(news->rank == LocalRank{1});
  stages.take(LocalRank{1}, trained());
  CHECK(stages.due());
  news = stages.news();  // the end is reported at once
  REQUIRE(news);
  CHECK_FALSE(news->stage);
  CHECK_FALSE(stages.news());
}

TEST_CASE("each rank is told with its stage, and whether it has called init_process_group") {
  HandClock clock;
  StageClock stages(clock);
  stages.begin_attempt(base::Attempt{1}, 4);
  WorkerMoments waits, reads, slow;
  for (WorkerMoments* one : {&waits, &reads, &slow}) one->launched = kLaunched;
  for (WorkerMoments* one : {&waits, &reads}) {
    one->user_code_at = at(50);
    one->marks.imports_done_at = at(2000);
  }
  waits.marks.group_begin_at = at(2100);
  clock.time = at(9000);
  stages.take(LocalRank{0}, waits);
  stages.take(LocalRank{2}, reads);
  stages.take(LocalRank{3}, slow);
  auto news = stages.news();
  REQUIRE(news);
  CHECK(news->stage == StageName::kImports);
  CHECK(news->rank == LocalRank{3});
  REQUIRE(news->ranks.size() == 4);
  CHECK(news->ranks[0] == wire::RankStage{StageName::kProcessGroup, at(2100), false, true});
  CHECK(news->ranks[1] == wire::RankStage{});  // nothing was read of it yet
  CHECK(news->ranks[2] == wire::RankStage{StageName::kImports, at(2000), true, false});
  CHECK(news->ranks[3] == wire::RankStage{StageName::kImports, kLaunched, false, false});
  stages.take(LocalRank{3}, reads);
  CHECK_FALSE(stages.news());  // too soon
  clock.time += agent::kStageNewsEvery;
  news = stages.news();
  REQUIRE(news);
  CHECK(news->stage == StageName::kProcessGroup);
  CHECK(news->ranks[3].is_over);
  CHECK_FALSE(stages.news());
  stages.forget_news();  // the connection broke
  CHECK(stages.news() == news);
}

TEST_CASE("a gap between two stages is not the end of the start: it is told after a while, once") {
  HandClock clock;
  StageClock stages(clock);
  stages.begin_attempt(base::Attempt{0}, 1);
  WorkerMoments worker;
  worker.launched = kLaunched;
  clock.time = at(1000);
  stages.take(LocalRank{0}, worker);
  REQUIRE(stages.news());
  worker.user_code_at = at(50);
  worker.marks.imports_done_at = at(900);
  stages.take(LocalRank{0}, worker);
  CHECK_FALSE(stages.news());
  clock.time += agent::kStageNewsEvery;
  const auto news = stages.news();
  REQUIRE(news);
  CHECK_FALSE(news->stage);
  REQUIRE(news->ranks.size() == 1);
  CHECK(news->ranks[0] == wire::RankStage{StageName::kImports, at(900), true, false});
  clock.time += agent::kStageNewsEvery;
  CHECK_FALSE(stages.news());
}

TEST_CASE("a worker outside the order's slots has no place in the list") {
  HandClock clock;
  StageClock stages(clock);
  stages.begin_attempt(base::Attempt{0}, 1);
  stages.take(LocalRank{4'000'000'000}, trained());
  const auto news = stages.news();
  CHECK((!news || news->ranks.empty()));
}

}  // namespace stage_clock_test
