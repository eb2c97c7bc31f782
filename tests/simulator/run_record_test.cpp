// What the journal of one run tells: faults by kind, and how long the stages took.

#include "simulator/run_record.h"

#include <doctest/doctest.h>

#include "base/core/clock.h"
#include "supervisor/core/types/events.h"
#include "tests/supervisor/report_scenarios.h"

namespace robustrun::simulator::run_record_test {
namespace {

using namespace supervisor::scenarios;
using namespace std::chrono_literals;
using supervisor::AgentLost;
using supervisor::CheckpointNoted;
using supervisor::Diagnosed;
using supervisor::FaultInjected;
using supervisor::Layer;
using supervisor::Rule;
using supervisor::WorkersGone;
using Mark = supervisor::Progress::Mark;

RunRecord record(const Story& story) { return record_of("run", story.entries); }

// Two nodes with one rank each; trains from 1 s on, a step is 100 ms.
Story begun() {
  Story story;
  story.run({{"a", "10.0.0.1", 1}, {"b", "10.0.0.2", 1}});
  story.group(3, 0, {{base::NodeId{0}, "a", "10.0.0.1", 0, 1}, {base::NodeId{1}, "b", "", 1, 1}});
  story.start(4, 0, 2).progress(1000, 0, Mark::kFirstStep, 1000, 3, 3);
  return story;
}

// Rank 1 dies at 10 s and is noticed 20 ms later; all are gone 300 ms after that, the next workers
// are started 200 ms later (0.0021 s for the processes), and do their first step after 2 s.
Story with_death(Layer layer, supervisor::FirstAction action) {
  Story story = begun();
  story.progress(9990, 0, Mark::kSummary, 9900, 90, 90);
  story.event(10020, exited(0, 1, ExitStatus::Kind::kExited, 1, 10000), 1);
  story.decide(10020, Rule::kWorkerFailed, 0, "rank 1 failed");
  auto& said = std::get<supervisor::Decision>(story.entries.back().what);
  said.looks_like.emplace();
  said.looks_like->layer = layer;
  said.looks_like->action = action;
  story.event(10320, WorkersGone{Attempt{0}, 0, {}, {}});
  story.decide(10320, Rule::kRestart, 0, "restart");
  story.start(10520, 1, 2).progress(12520, 1, Mark::kFirstStep, 12522.1, 1, 80);
  return story;
}

FaultKind kind_of(Layer layer, supervisor::FirstAction action) {
  const RunRecord seen = record(with_death(layer, action).finish(20000, 0));
  REQUIRE(seen.faults.size() == 1);
  return seen.faults[0].kind;
}

TEST_CASE("a worker's death is of the kind that it was taken for") {
  using supervisor::FirstAction;
  CHECK(kind_of(Layer::kInfrastructure, FirstAction::kEvict) == FaultKind::kGpu);
  CHECK(kind_of(Layer::kInfrastructure, FirstAction::kTolerate) == FaultKind::kPassing);
  CHECK(kind_of(Layer::kUserCode, FirstAction::kRestart) == FaultKind::kSoftware);
  CHECK(kind_of(Layer::kData, FirstAction::kRestart) == FaultKind::kSoftware);
  CHECK(kind_of(Layer::kExternalService, FirstAction::kRestart) == FaultKind::kPassing);
  CHECK(kind_of(Layer::kUnclear, FirstAction::kRestart) == FaultKind::kPassing);
}

TEST_CASE("a death tells when, where, and how long each stage took") {
  const RunRecord seen =
      record(with_death(Layer::kUnclear, supervisor::FirstAction::kRestart).finish(20000, 0));
  REQUIRE(seen.faults.size() == 1);
  const SeenFault& fault = seen.faults[0];
  CHECK(fault.at == 10s);
  CHECK(fault.place == 1);
  CHECK(fault.in_training);
  CHECK(fault.is_unclear);
  CHECK_FALSE(fault.on_purpose);
  REQUIRE(fault.exited.has_value());
  CHECK(fault.exited->code == 1);
  CHECK(seen.of(Stage::kRunStart) == std::vector<Nanos>{1s});
  CHECK(seen.of(Stage::kWorkerDeath) == std::vector<Nanos>{20ms});
  CHECK(seen.of(Stage::kStop) == std::vector<Nanos>{300ms});
  REQUIRE(seen.of(Stage::kStart).size() == 1);
  CHECK(in_seconds(seen.of(Stage::kStart)[0]) == doctest::Approx(0.2021));
  CHECK(seen.of(Stage::kScript) == std::vector<Nanos>{2s});
  CHECK(seen.of(Stage::kHangSuspected).empty());
  // The reading of the first step was of the third one, the step itself at 1 s.
  REQUIRE(seen.paces.size() == 1);
  CHECK(seen.paces[0].steps == 89);
  CHECK(in_seconds(seen.paces[0].step) == doctest::Approx(0.1));
}

TEST_CASE("exposure counts the machines that train, as long as they do") {
  Story story = begun();
  story.group(8640 * 1000.0, 1, {{base::NodeId{0}, "a", "10.0.0.1", 0, 1}});
  story.finish(2 * 8640 * 1000.0, 0);
  const RunRecord seen = record(story);
  CHECK(seen.nodes == 2);
  CHECK(seen.node_days == doctest::Approx(0.3));
}

TEST_CASE("a hang counts from the last progress, and its stop is timed apart") {
  Story story = begun();
  Diagnosed found;
  found.verdict.finding = tracer::Finding::kNeverEntered;
  found.verdict.culprits = {Rank{1}};
  found.verdict.lasting = 3s;
  story.event(23000, found);
  found.stage = Diagnosed::Stage::kConvicted;
  found.verdict.lasting = 20s;
  story.event(40000, found).decide(40000, Rule::kHangConvicted, 0, "");
  story.event(45000, WorkersGone{Attempt{0}, 0, {}, {}}).decide(45000, Rule::kRestart, 0, "");
  story.start(45100, 1, 2).progress(47000, 1, Mark::kFirstStep, 47000, 1).finish(50000, 0);
  const RunRecord seen = record(story);
  REQUIRE(seen.faults.size() == 1);
  CHECK(seen.faults[0].kind == FaultKind::kHang);
  CHECK(seen.faults[0].at == 20s);
  CHECK(seen.faults[0].place == 1);
  CHECK(seen.of(Stage::kHangSuspected) == std::vector<Nanos>{3s});
  CHECK(seen.of(Stage::kHangConvicted) == std::vector<Nanos>{20s});
  CHECK(seen.of(Stage::kStopHung) == std::vector<Nanos>{5s});
  CHECK(seen.of(Stage::kStop).empty());
}

TEST_CASE("a lost agent is a machine; one that was announced is maintenance") {
  for (const bool announced : {false, true}) {
    CAPTURE(announced);
    Story story = begun();
    if (announced) story.event(29000, supervisor::NodeEnding{"maintenance"}, 1);
    story.event(30000, AgentLost{"silent", true, 4s}, 1);
    story.event(30600, supervisor::AgentJoined{1, {}, 1}, 1);
    story.decide(30000, Rule::kAgentLost, 0, "").decide(30000, Rule::kRestart, 0, "");
    story.start(31000, 1, 2).progress(33000, 1, Mark::kFirstStep, 33000, 1).finish(43000, 0);
    const RunRecord seen = record(story);
    REQUIRE(seen.faults.size() == 1);
    CHECK(seen.faults[0].kind == (announced ? FaultKind::kMaintenance : FaultKind::kMachine));
    CHECK(seen.faults[0].at == 26s);
    CHECK(seen.faults[0].place == 1);
    CHECK(seen.of(Stage::kAgent) == std::vector<Nanos>{600ms});
    CHECK(seen.faults[0].node_answers);
    CHECK(seen.of(Stage::kMachineDeath).size() == (announced ? 0 : 1));
  }
}

TEST_CASE("faults on purpose are told apart, and orders of users are none") {
  Story story = with_death(Layer::kUnclear, supervisor::FirstAction::kRestart);
  story.decide(20000, Rule::kSignal, 1, "stopping (SIGTERM)").finish(22000, 143);
  CHECK(record(story).by_user == 1);
  CHECK(record(story).of(Stage::kEnding) == std::vector<Nanos>{2s});
  Story hurt = story;
  Story injected;
  injected.event(9999, FaultInjected{"kill", Attempt{0}, base::NodeId{1}, Rank{1}, 7, "SIGKILL"});
  auto place = hurt.entries.begin();
  while (place->at <= injected.entries[0].at) ++place;
  hurt.entries.insert(place, injected.entries[0]);
  REQUIRE(record(hurt).faults.size() == 1);
  CHECK(record(hurt).faults[0].on_purpose);
}

TEST_CASE("a failure before the first step is no fault of the training") {
  Story story;
  story.run({{"a", "10.0.0.1", 1}}).start(4, 0, 1);
  story.event(500, exited(0, 0, ExitStatus::Kind::kExited, 1, 499));
  story.decide(500, Rule::kWorkerFailed, 0, "").event(510, WorkersGone{Attempt{0}, 0, {}, {}});
  story.decide(510, Rule::kRestart, 0, "").start(520, 1, 1);
  story.progress(1000, 1, Mark::kFirstStep, 1000, 1).finish(9000, 0);
  const RunRecord seen = record(story);
  REQUIRE(seen.faults.size() == 1);
  CHECK_FALSE(seen.faults[0].in_training);
  CHECK(seen.of(Stage::kRunStart).empty());
  CHECK(seen.of(Stage::kWorkerDeath).empty());
}

TEST_CASE("a machine that is slow is one fault, whether it is replaced or fast again") {
  Diagnosed found;
  found.verdict.finding = tracer::Finding::kSlowRank;
  found.verdict.culprits = {Rank{1}};
  found.usual = 100ms;
  found.period = 150ms;
  Story over = begun();
  over.event(20000, found).decide(20000, Rule::kSlow, 0, "").decide(80000, Rule::kSlowOver, 0, "");
  over.finish(90000, 0);
  const RunRecord healed = record(over);
  REQUIRE(healed.faults.size() == 1);
  CHECK(healed.faults[0].kind == FaultKind::kSlow);
  CHECK(healed.faults[0].slows == doctest::Approx(1.5));
  CHECK(healed.of(Stage::kSlowFor) == std::vector<Nanos>{60s});
  Story gone = begun();
  gone.event(20000, found).decide(20000, Rule::kSlow, 0, "");
  gone.decide(50000, Rule::kSlowEvicted, 0, "").event(50100, WorkersGone{Attempt{0}, 0, {}, {}});
  gone.decide(50100, Rule::kRestart, 0, "").start(50200, 1, 2);
  gone.progress(52000, 1, Mark::kFirstStep, 52000, 1).finish(90000, 0);
  const RunRecord replaced = record(gone);
  REQUIRE(replaced.faults.size() == 1);
  CHECK(replaced.faults[0].kind == FaultKind::kSlow);
  CHECK(replaced.of(Stage::kSlowFor).empty());
}

TEST_CASE("notes about checkpoints tell the steps between them, and their stall") {
  Story story = begun();
  CheckpointNoted saved;
  saved.what = CheckpointNoted::What::kSaved;
  saved.id.step = 20;
  saved.count = 1;
  saved.blocking_median = 30ms;
  story.event(3000, saved);
  saved.id.step = 80;
  saved.count = 4;
  story.event(9000, saved).finish(20000, 0);
  const RunRecord seen = record(story);
  CHECK(seen.checkpoint_steps == std::vector<std::uint64_t>{20, 20});
  REQUIRE(seen.checkpoint_stall.has_value());
  CHECK(*seen.checkpoint_stall == 30ms);
}

TEST_CASE("any part of a journal gives a record, and times are never negative") {
  const Story whole = with_death(Layer::kUnclear, supervisor::FirstAction::kRestart);
  for (std::size_t from = 0; from < whole.entries.size(); ++from) {
    for (std::size_t to = from; to <= whole.entries.size(); ++to) {
      const std::vector<supervisor::JournalEntry> part(
          whole.entries.begin() + static_cast<std::ptrdiff_t>(from),
          whole.entries.begin() + static_cast<std::ptrdiff_t>(to));
      const RunRecord seen = record_of("part", part);
      for (const auto& times : seen.times) {
        for (const Nanos time : times) CHECK(time >= Nanos{});
      }
      CHECK(seen.node_days >= 0);
    }
  }
}

}  // namespace
}  // namespace robustrun::simulator::run_record_test
