#include "supervisor/run_dir/journal.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>

#include "tests/paths.h"
#include "tests/scratch_folder.h"
#include "tests/supervisor/report_scenarios.h"

namespace robustrun::supervisor::journal_test {
namespace {

std::string fixture(const std::string& name) {
  return in_source("tests/fixtures/journals/") + name + ".journal";
}

NodesChecked nodes_checked() {
  NodeCheck node;
  node.node.value = 1;
  node.generation.value = 2;
  node.answered = true;
  node.trouble = "it cannot be called by others: no address";
  node.clock_ahead = -std::chrono::seconds(3);
  node.clock_error = std::chrono::milliseconds(2);
  node.facts.missing = "/job is not on this machine";
  node.facts.disk = {"/job", 1000, 10, "slow"};
  node.facts.shm = {"/dev/shm", 2000, 20, "gone"};
  node.facts.limits = {1024, 4096, 8192, 9999};
  node.facts.rdma_devices = 2;
  node.facts.software = {true, "3.11.2", "2.5.1", "late", true};
  node.facts.gpus = {true, 8, "550.54", "lost"};
  node.unreached = {{{2}, base::ReachFault::kStranger, "something else answers"}};
  node.half_heard = {{2}, {3}};
  node.speeds = {{1, std::chrono::milliseconds(9), 2.5e9}};
  return {7, true, std::chrono::seconds(4), 3, {node}};
}

PlacementSolved placement() {
  return {0xfedcba9876543210, {{3}, {0}}, "so it is best", {"dp: 2"}, {"in order: dp: 3"}};
}

Diagnosed diagnosed() {
  Diagnosed what;
  what.attempt.value = 1;
  what.stage = Diagnosed::Stage::kConvicted;
  what.learnt_in = std::chrono::milliseconds(1200);
  tracer::Verdict& verdict = what.verdict;
  verdict.finding = tracer::Finding::kNeverEntered;
  verdict.confidence = tracer::Confidence::kExact;
  verdict.culprits = {{1}};
  verdict.nodes = {"alpha"};
  verdict.edges = {{{0}, {1}}};
  verdict.victims = {{0}, {2}, {3}};
  verdict.comm = 77;
  verdict.group = "dp_2";
  verdict.ordinal = 4182;
  verdict.signature = {tracer::OpKind::kAllReduce, tracer::DataType::kFloat32, 12'000'000, 0};
  verdict.lasting = std::chrono::milliseconds(4100);
  verdict.is_moving = true;
  verdict.sentence = "rank 1 (alpha, local 1) has not entered all_reduce #4182";
  verdict.evidence = {"rank 1: 4181 entered", "rank 0: 4182 entered"};
  verdict.runner_up = {tracer::Finding::kLinkStuck, "the link from rank 0 to rank 1"};
  return what;
}

UpdateRequested update() {
  return {3, {"env LR=0.1", "code from /new"}, "ab12", true, std::chrono::hours(24)};
}

MetricAlarm metric_alarm() {
  return {base::Attempt{1}, "loss", MetricAlarm::Kind::kJump, 12.5, 2.25, 5, true};
}

NodesReplayed nodes_replayed() {
  using Outcome = GroupReplayed::Outcome;
  return {3,
          std::chrono::seconds(9),
          {{Outcome::kFailed, {{1}, {2}}, "rank 1: exit code 10"}, {Outcome::kPassed, {}, {}}}};
}

CheckpointNoted checkpoint_noted() {
  CheckpointNoted what{
      base::Attempt{1}, CheckpointNoted::What::kLoaded, {1000, 7, "3f9c"}, {"/a", "/b"}, "memory"};
  what.ranks = 2;
  what.count = 3;
  what.bytes = 4096;
  what.blocking = std::chrono::milliseconds(30);
  what.blocking_median = std::chrono::milliseconds(9);
  what.blocking_most = std::chrono::milliseconds(12);
  what.total_most = std::chrono::milliseconds(40);
  return what;
}

CheckpointDemoted checkpoint_demoted() { return {4, "no such checkpoint"}; }

BackupSolved backup_solved() { return {91, {1, 2, 0}, "another node", true}; }

CopiesKept copies_kept() {
  return {base::Attempt{1}, {{base::Rank{3}, true, false, 90}, {base::Rank{4}, true, true, 100}}};
}

HeldCopiesSaved copies_saved() { return {base::Attempt{1}, 5, 2, {"rank 4: no such memory"}}; }

CheckpointMoved checkpoint_moved() {
  return {base::Attempt{2}, "out/checkpoint-4", "out/.robustrun-incomplete/checkpoint-4.attempt1",
          "no trainer_state.json; attempt 1 was writing it"};
}

StartStages start_stages() {
  return {base::Attempt{1},
          {{StageName::kImports, base::Nanos(5), base::Nanos(9), base::Nanos(3), base::Rank{7}},
           {StageName::kFirstStep, base::Nanos(11), base::Nanos{}, base::Nanos(2), {}}}};
}

FaultInjected injected() {
  return {"kill", base::Attempt{1}, base::NodeId{1}, base::Rank{3}, 4243, "SIGKILL"};
}

// One entry of every kind, with no member at its default where it has any.
std::vector<JournalEntry> one_of_each() {
  scenarios::Story story = scenarios::failed();
  const base::Attempt attempt{1};
  story.event(8000, WorkerStartFailed{attempt, base::Rank{3}, 2, "cannot run x"});
  story.event(8001, StepGoalReached{attempt, 500}).event(8002, SignalReceived{15, true});
  story.event(8003, AgentLost{"gone", false}).event(8004, TimerFired{TimerId::kUptime, 9}, 1);
  story.event(8005, WorkersGone{attempt, 2, {"pid 12 (python), D state"}, {"torch_123"}});
  story.progress(8006, 1, Progress::Mark::kCaughtUp, 8005, 7, -3, 0.5);
  story.event(8007, NodeOffered{{"gamma", "10.0.0.3", 2, true, 7}}, 2);
  story.event(8008, AgentJoined{77, "10.0.0.33", 2}, 2);
  story.group(8009, 2, {{{2}, "gamma", "10.0.0.33", 0, 2}, {{0}, "alpha", "10.0.0.1", 2, 2}},
              {"beta"});
  story.event(8010, injected()).event(8011, NodeEnding{"preempted"}, 2);
  story.event(8012, nodes_checked()).event(8013, placement());
  story.event(8014, diagnosed()).event(8015, update()).event(8016, metric_alarm());
  story.event(8017, nodes_replayed());
  story.event(8018, checkpoint_noted()).event(8019, checkpoint_demoted());
  story.event(8020, backup_solved()).event(8021, copies_kept()).event(8022, copies_saved());
  AgentJoined joined{78, "10.0.0.34", 2};
  joined.asked = base::Nanos(100);
  joined.began = base::Nanos(200);
  story.event(8023, start_stages(), 1).event(8024, joined, 1).event(8025, checkpoint_moved(), 1);
  return story.entries;
}

std::string bytes_of(const JournalEntry& entry) {
  const EncodedEntry record = encode_entry(entry);
  return fmt::format("{}:{}", record.kind, record.payload);
}

void write_journal(const std::string& path, const std::vector<JournalEntry>& entries) {
  auto journal = Journal::create(path);
  REQUIRE(journal);
  for (const JournalEntry& entry : entries) REQUIRE(journal->append(entry));
  REQUIRE(journal->sync());
}

// A journal of before. RR_UPDATE_GOLDEN=1 writes what is missing; what exists never changes.
base::Result<JournalReadout> stored(const std::string& name,
                                    const std::vector<JournalEntry>& entries) {
  const std::string path = fixture(name);
  const bool may_write = std::getenv("RR_UPDATE_GOLDEN") != nullptr;
  if (may_write && !std::filesystem::exists(path)) write_journal(path, entries);
  return read_run_journal(path);
}

template <class Body>
JournalEntry at_seven(Body body) {
  return {base::Nanos(7), Event{base::Nanos(7), {}, {}, std::move(body)}};
}

TEST_CASE("every kind of entry comes back from the journal as it was") {
  const robustrun::test::ScratchFolder folder;
  const auto entries = one_of_each();
  write_journal(folder / "journal", entries);
  const auto readout = read_run_journal(folder / "journal");
  REQUIRE(readout);
  CHECK(readout->torn_bytes == 0);
  REQUIRE(readout->entries.size() == entries.size());
  for (std::size_t i = 0; i < entries.size(); ++i) {
    CAPTURE(i);
    CHECK(bytes_of(readout->entries[i]) == bytes_of(entries[i]));
    CHECK(readout->entries[i].at == entries[i].at);
    CHECK(readout->entries[i].what.index() == entries[i].what.index());
  }
  CHECK(report_json(build_report(readout->entries)) == report_json(build_report(entries)));
}

TEST_CASE("a torn tail loses the last record alone") {
  const robustrun::test::ScratchFolder folder;
  const auto entries = one_of_each();
  write_journal(folder / "journal", entries);
  std::filesystem::resize_file(folder / "journal",
                               std::filesystem::file_size(folder / "journal") - 3);
  const auto readout = read_run_journal(folder / "journal");
  REQUIRE(readout);
  CHECK(readout->torn_bytes > 0);
  CHECK(readout->entries.size() == entries.size() - 1);
}

TEST_CASE("a damaged record in the middle is reported, and the entries behind it are read") {
  const robustrun::test::ScratchFolder folder;
  const auto entries = one_of_each();
  const std::string path = folder / "journal";
  write_journal(path, entries);
  std::string bytes = base::read_file(path, 1 << 24).value();
  bytes[64 + 30] ^= 1;  // in the first record
  REQUIRE(base::write_file_atomically(path, bytes, 0600));
  const auto readout = read_run_journal(path);
  REQUIRE(readout);
  CHECK(readout->entries.size() == entries.size() - 1);
  CHECK(readout->torn_bytes == 0);
  CHECK(readout->damage.find("/journal is damaged: 1 record is lost (") != std::string::npos);
  CHECK(readout->damage.find(" bytes from byte 64 on)") != std::string::npos);
}

TEST_CASE("records of unknown kinds are skipped") {
  const robustrun::test::ScratchFolder folder;
  {
    auto writer = base::JournalWriter::open(folder / "journal");
    REQUIRE(writer);
    REQUIRE(writer->append(63, "from a newer version"));
    const EncodedEntry finish = encode_entry({base::Nanos(7), Finish{3}});
    REQUIRE(writer->append(finish.kind, finish.payload));
  }
  const auto readout = read_run_journal(folder / "journal");
  REQUIRE(readout);
  REQUIRE(readout->entries.size() == 1);
  CHECK(std::get<Finish>(readout->entries[0].what).exit_code == 3);
}

TEST_CASE("a record of a known kind that is no message is corrupt, with its number") {
  const robustrun::test::ScratchFolder folder;
  {
    auto writer = base::JournalWriter::open(folder / "journal");
    REQUIRE(writer);
    REQUIRE(writer->append(1, "\xff\xff\xff"));
  }
  const auto readout = read_run_journal(folder / "journal");
  REQUIRE_FALSE(readout);
  CHECK(readout.error().code == base::Errc::kCorrupt);
  CHECK(readout.error().what.find("record 0") != std::string::npos);
}

// What the stored file holds is frozen: the text below must stay true for ever.
TEST_CASE("the journal of version 1 can be read") {
  const auto readout = read_run_journal(fixture("v1"));
  REQUIRE(readout);
  CHECK(readout->torn_bytes == 0);
  CHECK(readout->entries.size() == 34);
  const RunReport report = build_report(readout->entries);
  CHECK(report.run_id == "brave-otter-4711");
  CHECK(report.version == "0.1.0");
  CHECK(report.outcome == RunOutcome::kFailed);
  CHECK(report.world_size == 4);
  REQUIRE(report.incidents.size() == 2);
  CHECK(report.incidents[0].rank == 2U);
  CHECK(report.incidents[0].phases.size() == 5);
  CHECK(report.incidents[1].error_message.starts_with("RuntimeError: the loss"));
  CHECK(report.incidents[1].alternatives.size() == 1);
}

TEST_CASE("a fault on purpose in a journal of before can be read") {
  const FaultInjected own{"supervisor-death", base::Attempt{1}, {}, {}, 17, "SIGKILL"};
  const auto made = [](const FaultInjected& body) {
    return JournalEntry{base::Nanos(7),
                        Event{base::Nanos(7), base::NodeId{1}, base::Generation{2}, body}};
  };
  const auto readout = stored("kind14", {made(injected()), made(own)});
  REQUIRE(readout);
  REQUIRE(readout->entries.size() == 2);
  for (const JournalEntry& entry : readout->entries) {
    CHECK(entry.at == base::Nanos(7));
    CHECK(std::get<Event>(entry.what).node == base::NodeId{1});
  }
  const auto body = [&](std::size_t i) -> const FaultInjected& {
    return std::get<FaultInjected>(std::get<Event>(readout->entries[i].what).body);
  };
  CHECK(body(0).kind == "kill");
  CHECK(body(0).attempt == base::Attempt{1});
  CHECK(body(0).node == base::NodeId{1});
  CHECK(body(0).victim == base::Rank{3});
  CHECK(body(0).pid == 4243);
  CHECK(body(0).done == "SIGKILL");
  CHECK(body(1).kind == "supervisor-death");
  CHECK_FALSE(body(1).node);
  CHECK_FALSE(body(1).victim);
}

TEST_CASE("a check of nodes in a journal of before can be read") {
  const auto readout = stored("kind16", {at_seven(nodes_checked())});
  REQUIRE(readout);
  REQUIRE(readout->entries.size() == 1);
  CHECK(bytes_of(readout->entries[0]) == bytes_of(at_seven(nodes_checked())));
  const auto& body = std::get<NodesChecked>(std::get<Event>(readout->entries[0].what).body);
  CHECK(body.nodes[0].facts.software.torch == "2.5.1");
  CHECK(body.nodes[0].unreached[0].fault == base::ReachFault::kStranger);
  CHECK(body.nodes[0].clock_ahead == -std::chrono::seconds(3));
}

TEST_CASE("a placement in a journal of before can be read") {
  const auto readout = stored("kind18", {at_seven(placement())});
  REQUIRE(readout);
  REQUIRE(readout->entries.size() == 1);
  const auto& body = std::get<PlacementSolved>(std::get<Event>(readout->entries[0].what).body);
  CHECK(body.digest == 0xfedcba9876543210);
  CHECK(body.members == std::vector<base::NodeId>{{3}, {0}});
  CHECK(body.text == "so it is best");
  CHECK(body.evidence == std::vector<std::string>{"dp: 2"});
  CHECK(body.alternatives == std::vector<std::string>{"in order: dp: 3"});
}

TEST_CASE("a verdict in a journal of before can be read") {
  const auto readout = stored("kind19", {at_seven(diagnosed())});
  REQUIRE(readout);
  REQUIRE(readout->entries.size() == 1);
  const auto& body = std::get<Diagnosed>(std::get<Event>(readout->entries[0].what).body);
  CHECK(body.stage == Diagnosed::Stage::kConvicted);
  CHECK(body.verdict.finding == tracer::Finding::kNeverEntered);
  CHECK(body.verdict.culprits == std::vector<base::Rank>{{1}});
  CHECK(body.verdict.signature.kind == tracer::OpKind::kAllReduce);
  CHECK(body.verdict.signature.bytes() == 48'000'000);
  CHECK(body.verdict.runner_up.finding == tracer::Finding::kLinkStuck);
}

TEST_CASE("an update in a journal of before can be read") {
  const auto readout = stored("kind22", {at_seven(update())});
  REQUIRE(readout);
  REQUIRE(readout->entries.size() == 1);
  const auto& body = std::get<UpdateRequested>(std::get<Event>(readout->entries[0].what).body);
  CHECK(body.version == 3);
  CHECK(body.changes == std::vector<std::string>{"env LR=0.1", "code from /new"});
  CHECK(body.digest == "ab12");
  CHECK(body.now);
  CHECK(body.within == std::chrono::hours(24));
}

TEST_CASE("an alarm of a metric in a journal of before can be read") {
  const auto readout = stored("kind21", {at_seven(metric_alarm())});
  REQUIRE(readout);
  REQUIRE(readout->entries.size() == 1);
  const auto& body = std::get<MetricAlarm>(std::get<Event>(readout->entries[0].what).body);
  CHECK(body.name == "loss");
  CHECK(body.kind == MetricAlarm::Kind::kJump);
  CHECK(body.value == 12.5);
  CHECK(body.usual == 2.25);
  CHECK(body.readings == 5);
  CHECK(body.over);
}

TEST_CASE("a replay in a journal of before can be read") {
  const auto readout = stored("kind24", {at_seven(nodes_replayed())});
  REQUIRE(readout);
  REQUIRE(readout->entries.size() == 1);
  const auto& body = std::get<NodesReplayed>(std::get<Event>(readout->entries[0].what).body);
  CHECK(body.replay == 3);
  CHECK(body.took == std::chrono::seconds(9));
  REQUIRE(body.groups.size() == 2);
  CHECK(body.groups[0].outcome == GroupReplayed::Outcome::kFailed);
  CHECK(body.groups[0].named == std::vector<base::NodeId>{{1}, {2}});
  CHECK(body.groups[0].why == "rank 1: exit code 10");
  CHECK(body.groups[1].outcome == GroupReplayed::Outcome::kPassed);
}

TEST_CASE("what was said of checkpoints in a journal of before can be read") {
  const auto readout = stored("kind32", {at_seven(checkpoint_noted())});
  REQUIRE(readout);
  REQUIRE(readout->entries.size() == 1);
  const auto& body = std::get<CheckpointNoted>(std::get<Event>(readout->entries[0].what).body);
  CHECK(body.what == CheckpointNoted::What::kLoaded);
  CHECK(body.id == CheckpointId{1000, 7, "3f9c"});
  CHECK(body.directories == std::vector<std::string>{"/a", "/b"});
  CHECK(body.source == "memory");
  CHECK(body.ranks == 2);
  CHECK(body.count == 3);
  CHECK(body.bytes == 4096);
  CHECK(body.blocking == std::chrono::milliseconds(30));
  CHECK(body.blocking_median == std::chrono::milliseconds(9));
  CHECK(body.blocking_most == std::chrono::milliseconds(12));
  const auto other = stored("kind33", {at_seven(checkpoint_demoted())});
  REQUIRE(other);
  REQUIRE(other->entries.size() == 1);
  const auto& answer = std::get<CheckpointDemoted>(std::get<Event>(other->entries[0].what).body);
  CHECK(answer.order == 4);
  CHECK(answer.error == "no such checkpoint");
}

TEST_CASE("what was said of copies in memory in a journal of before can be read") {
  const auto keepers = stored("kind34", {at_seven(backup_solved())});
  REQUIRE(keepers);
  REQUIRE(keepers->entries.size() == 1);
  const auto& solved = std::get<BackupSolved>(std::get<Event>(keepers->entries[0].what).body);
  CHECK(solved.digest == 91);
  CHECK(solved.keepers == std::vector<std::uint32_t>{1, 2, 0});
  CHECK(solved.text == "another node");
  CHECK(solved.is_relaxed);
  const auto copies = stored("kind35", {at_seven(copies_kept())});
  REQUIRE(copies);
  REQUIRE(copies->entries.size() == 1);
  const auto& kept = std::get<CopiesKept>(std::get<Event>(copies->entries[0].what).body);
  CHECK(kept.attempt == base::Attempt{1});
  CHECK(kept.copies == copies_kept().copies);
  const auto answers = stored("kind36", {at_seven(copies_saved())});
  REQUIRE(answers);
  REQUIRE(answers->entries.size() == 1);
  CHECK(bytes_of(answers->entries[0]) == bytes_of(at_seven(copies_saved())));
  const auto over = at_seven(SavingOver{base::Attempt{1}, 5});
  const auto ends = stored("kind37", {over});
  REQUIRE((ends && ends->entries.size() == 1));
  CHECK(bytes_of(ends->entries[0]) == bytes_of(over));
}

TEST_CASE("a moved checkpoint in a journal of before can be read") {
  const auto readout = stored("kind38", {at_seven(checkpoint_moved())});
  REQUIRE(readout);
  REQUIRE(readout->entries.size() == 1);
  const auto& body = std::get<CheckpointMoved>(std::get<Event>(readout->entries[0].what).body);
  CHECK(body.attempt == base::Attempt{2});
  CHECK(body.path == "out/checkpoint-4");
  CHECK(body.moved_to == "out/.robustrun-incomplete/checkpoint-4.attempt1");
  CHECK(body.evidence == "no trainer_state.json; attempt 1 was writing it");
}

TEST_CASE("the stages of a start in a journal of before can be read") {
  const auto readout = stored("kind31", {at_seven(start_stages())});
  REQUIRE(readout);
  REQUIRE(readout->entries.size() == 1);
  CHECK(bytes_of(readout->entries[0]) == bytes_of(at_seven(start_stages())));
}

}  // namespace
}  // namespace robustrun::supervisor::journal_test
