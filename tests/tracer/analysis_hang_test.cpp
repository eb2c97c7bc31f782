// Rules R2, R9, R10: which rank is absent, and what keeps it.
#include <doctest/doctest.h>

#include "tests/tracer/fleet.h"
#include "tracer/analysis/limits.h"

namespace robustrun::tracer::analysis_hang_test {
namespace {

using Ranks = std::vector<std::uint32_t>;

TEST_CASE("a rank in its data loader is named with place, operation, age and victims") {
  Fleet fleet(16);
  fleet.group(9, {3, 7, 11, 15}, 4181, "17");
  fleet.world(1, 10);
  fleet.snapshot.layout = {{"dp_1", {{1}, {5}, {9}, {13}}}, {"dp_2", {{3}, {7}, {11}, {15}}}};
  fleet.enter_all_but(9, {11}, 4.1);
  fleet.enter_all_but(1, {3, 7, 11, 15}, 3);
  fleet.stack(11, loader_stack());
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.sentence ==
        "rank 11 (node2, local 3) has not entered all_reduce #4182 (48 MB, group dp_2) for 4.1 s; "
        "it is in train.py:87, data loader; 15 ranks wait for it");
  CHECK(verdict.finding == Finding::kInputStall);
  CHECK(verdict.confidence == Confidence::kExact);
  CHECK(numbers(verdict.culprits) == Ranks{11});
  CHECK(verdict.victims.size() == 15);
  CHECK(verdict.nodes == std::vector<std::string>{"node2"});
  CHECK(verdict.comm == 9);
  CHECK(verdict.ordinal == 4182);
  CHECK(verdict.lasting == seconds(4.1));
  CHECK(verdict.runner_up.finding == Finding::kNothing);
}

TEST_CASE("what a rank waits for by its own record is named, also without a stack") {
  for (const bool has_stack : {true, false}) {
    CAPTURE(has_stack);
    Fleet fleet(4);
    fleet.world();
    fleet.enter_all_but(1, {3}, 12);
    if (has_stack) fleet.stack(3, {{"<module>", "/home/me/train.py", 87}});
    fleet.rank(3).evidence.data_wait = "source web, /data/web-0.bin";
    const Verdict verdict = fleet.verdict();
    CHECK(verdict.finding == Finding::kInputStall);
    CHECK(numbers(verdict.culprits) == Ranks{3});
    CHECK(verdict.sentence.find("; it waits for data of source web, /data/web-0.bin; 3 ranks wait "
                                "for it") != std::string::npos);
    CHECK(verdict.place == (has_stack ? "train.py:87, data loader" : "data loader"));
  }
}

TEST_CASE("of ranks that all wait for data, one is named with what it waits for") {
  Fleet fleet(2);
  fleet.world();
  for (const std::uint32_t rank : {0U, 1U}) {
    fleet.stack(rank, loader_stack());
    fleet.rank(rank).evidence.data_wait = "source web, /data/web-" + std::to_string(rank);
  }
  CHECK(fleet.verdict().sentence ==
        "all 2 ranks are outside any recorded operation, in train.py:87, data loader; rank 0 waits "
        "for data of source web, /data/web-0");
}

TEST_CASE("no rank is blocked when all are outside, or in an empty fleet") {
  Fleet fleet(4);
  fleet.world();
  CHECK(fleet.verdict().finding == Finding::kNothing);
  CHECK(analyze({}).finding == Finding::kNothing);
}

TEST_CASE("without a stack the absent rank is named all the same") {
  Fleet fleet(4);
  fleet.world();
  fleet.enter_all_but(1, {2});
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kNeverEntered);
  CHECK(numbers(verdict.culprits) == Ranks{2});
  CHECK(numbers(verdict.victims) == Ranks{0, 1, 3});
  CHECK(verdict.sentence ==
        "rank 2 (node0, local 2) has not entered all_reduce #7 (48 MB, group world) for 10.0 s; "
        "3 ranks wait for it");
}

TEST_CASE("a wait of unknown length is reported without one, and only inferred") {
  Fleet fleet(4);
  fleet.world();
  fleet.enter_all_but(1, {2}, 0);
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kNeverEntered);
  CHECK(verdict.confidence == Confidence::kInferred);
  CHECK(verdict.lasting == base::Nanos{});
  CHECK(verdict.sentence ==
        "rank 2 (node0, local 2) has not entered all_reduce #7 (48 MB, group world); 3 ranks wait "
        "for it");
}

TEST_CASE("several absent ranks of several nodes are listed") {
  Fleet fleet(16, 8);
  fleet.world();
  fleet.enter_all_but(1, {3, 7, 9});
  CHECK(fleet.verdict().sentence ==
        "ranks 3, 7 and 9 (node0, node1) have not entered all_reduce #7 (48 MB, group world) for "
        "10.0 s; 13 ranks wait for them");
}

TEST_CASE("a rank that waits elsewhere for the culprit is a victim, not a culprit") {
  Fleet fleet(4);
  fleet.group(1, {0, 1}, 6, "tp_0");
  fleet.group(2, {1, 2}, 3, "pp_0");
  fleet.group(3, {2, 3}, 9, "tp_1");
  fleet.enter(1, 0, 12);  // waits for 1, which waits for 2, which waits for 3
  fleet.enter(2, 1, 11);
  fleet.enter(3, 2, 10);
  const Verdict verdict = fleet.verdict();
  CHECK(numbers(verdict.culprits) == Ranks{3});
  CHECK(numbers(verdict.victims) == Ranks{0, 1, 2});
  CHECK(verdict.group == "tp_1");
  CHECK(verdict.lasting == seconds(12));
}

TEST_CASE("a rank late by milliseconds is not named beside one that is missing for seconds") {
  Fleet fleet(6);
  fleet.group(1, {0, 1, 2}, 6, "a");
  fleet.group(2, {3, 4, 5}, 6, "b");
  fleet.enter_all_but(1, {2}, 10);
  fleet.enter_all_but(2, {5}, 0.02);
  CHECK(numbers(fleet.verdict().culprits) == Ranks{2});
}

TEST_CASE("a rank inside an unrecorded call is named only if no other rank is absent") {
  const std::vector<Frame> receiving = {
      {"recv", "/v/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", 2400},
      {"main", "/home/me/train.py", 33}};
  Fleet fleet(4);
  fleet.world();
  fleet.enter_all_but(1, {2, 3});
  fleet.stack(2, receiving);
  CHECK(numbers(fleet.verdict().culprits) == Ranks{3});
  fleet.enter(1, 3);
  const Verdict verdict = fleet.verdict();
  CHECK(numbers(verdict.culprits) == Ranks{2});
  CHECK(verdict.confidence == Confidence::kInferred);
}

TEST_CASE("members inside the call that launch nothing are named as such") {
  Fleet fleet(4);
  fleet.world();
  fleet.enter_all_but(1, {1});
  fleet.enter(1, 1, 8, all_reduce(), Operation::Stage::kCalled);
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kNeverEntered);
  CHECK(verdict.sentence ==
        "rank 1 (node0, local 1) is inside the call of all_reduce #7 (48 MB, group world) for "
        "10.0 s and has not launched it; 3 ranks wait for it");
}

TEST_CASE("in a first call of all members the one that is absent is named") {
  Fleet fleet(4);
  fleet.world(1, 0);
  for (const std::uint32_t r : {0U, 1U, 3U}) {
    fleet.enter(1, r, 30, all_reduce(), Operation::Stage::kCalled);
  }
  CHECK(numbers(fleet.verdict().culprits) == Ranks{2});
  fleet.enter(1, 2, 30, all_reduce(), Operation::Stage::kCalled);
  CHECK(fleet.verdict().finding == Finding::kUndecided);
}

TEST_CASE("contradictory snapshots do no harm") {
  Fleet fleet(4);
  fleet.world();
  fleet.enter_all_but(1, {2});
  fleet.snapshot.ranks.push_back(fleet.snapshot.ranks[1]);  // the same rank twice
  fleet.rank(0).comms.push_back(fleet.in(1, 0));            // the same membership twice
  fleet.in(1, 3).rank = 77;                                 // no such member
  fleet.in(1, 1).size = 4'000'000'000;
  fleet.in(1, 1).pending.front().age = seconds(-5);
  fleet.in(1, 0).pending.front().age = base::Nanos::max();
  fleet.rank(1).comms.push_back({});
  const Verdict verdict = fleet.verdict();
  CHECK(numbers(verdict.culprits) == Ranks{2});
  CHECK(verdict.confidence == Confidence::kInferred);
}

std::vector<Frame> saving() {
  return {{"save", "/venv/lib/python3.11/site-packages/torch/serialization.py", 900},
          {"main", "/home/me/train.py", 120}};
}

TEST_CASE("a rank that saves a checkpoint is excused") {
  Fleet fleet(4);
  fleet.world();
  fleet.enter_all_but(1, {0}, 12);
  fleet.stack(0, saving());
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kLongPhase);
  CHECK(numbers(verdict.culprits) == Ranks{0});
  CHECK(
      verdict.sentence ==
      "rank 0 (node0, local 0) is busy with checkpoint in main (train.py:120) and has not entered "
      "all_reduce #7 (48 MB, group world) for 12.0 s; 3 ranks wait for it; this may be "
      "normal");
}

TEST_CASE("reading a file for the data set is not a checkpoint") {
  Fleet fleet(4);
  fleet.world();
  fleet.enter_all_but(1, {0});
  fleet.stack(0,
              {{"load", "/venv/lib/python3.11/site-packages/torch/serialization.py", 900},
               {"__getitem__", "/home/me/data.py", 12},
               {"fetch", "/venv/lib/python3.11/site-packages/torch/utils/data/_utils/fetch.py", 52},
               {"main", "/home/me/train.py", 30}});
  CHECK(fleet.verdict().finding == Finding::kInputStall);
}

TEST_CASE("a rank in robustrun's own loader waits for data") {
  const std::string package = "/venv/lib/python3.11/site-packages/robustrun";
  const std::vector<std::vector<Frame>> stacks = {
      {{"ready", package + "/_data/c_api.py", 200}, {"__next__", package + "/data.py", 70}},
      {{"__next__", package + "/data.py", 71}}};
  for (auto frames : stacks) {
    Fleet fleet(8);
    fleet.world();
    fleet.enter_all_but(1, {5});
    frames.push_back({"main", "/home/me/train.py", 30});
    fleet.stack(5, frames);
    CHECK(fleet.verdict().finding == Finding::kInputStall);
  }
}

TEST_CASE("beside a rank that saves a checkpoint, the one without an excuse is the culprit") {
  Fleet fleet(8);
  fleet.world();
  fleet.enter_all_but(1, {0, 5});
  fleet.stack(0, saving());
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kNeverEntered);
  CHECK(numbers(verdict.culprits) == Ranks{5});
  CHECK(verdict.runner_up.finding == Finding::kLongPhase);
}

TEST_CASE("when all ranks are in the same phase, the finding is a long phase") {
  Fleet fleet(4);
  fleet.world();
  for (std::uint32_t r = 0; r < 4; ++r) fleet.stack(r, {{"validate", "/home/me/train.py", 7}});
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kLongPhase);
  CHECK(verdict.culprits.size() == 4);
  fleet.rank(3).evidence.stacks.clear();
  CHECK(fleet.verdict().finding == Finding::kNothing);
}

TEST_CASE("the culprit is moving if it uses or wants a CPU, reads, or its stack changes") {
  for (const int how : {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}) {
    Fleet fleet(4);
    fleet.world();
    fleet.enter_all_but(1, {2});
    Evidence& evidence = fleet.rank(2).evidence;
    evidence.has_process = true;
    evidence.process.state = "S";
    evidence.process.watched = seconds(1);
    if (how == 1) evidence.process.cpu = seconds(0.2);
    evidence.process.io_bytes =
        kMovingIoBytes + (how == 2 ? 1 : 0);  // its stack dumps are written, too
    if (how == 3) evidence.stacks_moved = true;
    if (how == 4) evidence.process.cpu_delay = seconds(0.2);  // others use the CPUs
    if (how == 5) evidence.process.state = "R";
    if (how == 6) evidence.process.state = "D";  // storage responds sooner or later
    if (how == 7) evidence.process.children_blocked = 1;
    if (how == 9) evidence.process.threads_blocked = 1;  // that reads data ahead
    if (how != 8) fleet.stack(2, {{"wait", "/home/me/train.py", 7}});  // 8: its place is unknown
    // Victims may spin, which does not make them culprits.
    fleet.rank(0).evidence = {};
    fleet.rank(0).evidence.has_process = true;
    fleet.rank(0).evidence.process.watched = seconds(1);
    fleet.rank(0).evidence.process.cpu = seconds(1);
    CAPTURE(how);
    CHECK(fleet.verdict().is_moving == (how > 0));
    CHECK(numbers(fleet.verdict().culprits) == Ranks{2});
  }
}

TEST_CASE("a rank is still if nothing but a sleep or a lock in a line of the script keeps it") {
  struct Change {
    const char* what;
    bool is_still;
    void (*make)(Fleet& fleet, Evidence& evidence);
  };
  const auto beside = [](Evidence& evidence, std::vector<Frame> frames) {
    evidence.stacks.push_back({.thread = "other", .frames = std::move(frames)});
  };
  static const auto kBeside = beside;
  constexpr Change kChanges[] = {
      {"a sleep", true, [](Fleet&, Evidence&) {}},
      {"a lock", true,
       [](Fleet&, Evidence& e) {
         e.process.main_wait = MainWait::kLock;
         auto& frames = e.stacks[0].frames;
         frames.insert(frames.begin(), {"wait", "/usr/lib/python3.11/threading.py", 5});
       }},
      {"a lock of native code", false,
       [](Fleet&, Evidence& e) { e.process.main_wait = MainWait::kLock; }},
      {"its GPU is busy", false,
       [](Fleet&, Evidence& e) { e.gpus.emplace_back().utilisation_percent = 3; }},
      {"its GPU is idle", true, [](Fleet&, Evidence& e) { e.gpus.emplace_back(); }},
      {"neither", false, [](Fleet&, Evidence& e) { e.process.main_wait = MainWait::kOther; }},
      {"others may be at work", false, [](Fleet&, Evidence& e) { e.process.others_idle = false; }},
      {"it uses a CPU", false, [](Fleet&, Evidence& e) { e.process.cpu = seconds(0.2); }},
      {"it does I/O", false, [](Fleet&, Evidence& e) { e.process.io_bytes = 2 << 20; }},
      {"its stack changes", false, [](Fleet&, Evidence& e) { e.stacks_moved = true; }},
      {"its process was not seen", false, [](Fleet&, Evidence& e) { e.has_process = false; }},
      {"its stack is unknown", false, [](Fleet&, Evidence& e) { e.stacks.clear(); }},
      {"it is in a library", false,
       [](Fleet&, Evidence& e) {
         auto& frames = e.stacks[0].frames;
         frames.insert(frames.begin(), {"get", "/x/site-packages/fsspec/asyn.py", 5});
       }},
      {"it saves", false,
       [](Fleet&, Evidence& e) { e.stacks[0].frames[0].function = "save_checkpoint"; }},
      {"it evaluates", false,
       [](Fleet&, Evidence& e) { e.stacks[0].frames[0].function = "evaluate"; }},
      {"a thread of Python waits for a socket", false,
       [](Fleet&, Evidence& e) {
         kBeside(e, {{"select", "/usr/lib/python3.11/selectors.py", 5}});
       }},
      {"a thread of Python waits for work", true,
       [](Fleet&, Evidence& e) { kBeside(e, {{"wait", "/usr/lib/python3.11/threading.py", 5}}); }},
      {"a lock, and a thread that may free it", false,
       [](Fleet&, Evidence& e) {
         e.process.main_wait = MainWait::kLock;
         kBeside(e, {{"wait", "/usr/lib/python3.11/threading.py", 5}});
       }},
      {"a lock, and a child that may free it", false,
       [](Fleet&, Evidence& e) {
         e.process.main_wait = MainWait::kLock;
         e.process.children = 1;
       }},
      {"a lock, and a thread that only shows progress", true,
       [](Fleet&, Evidence& e) {
         e.process.main_wait = MainWait::kLock;
         auto& frames = e.stacks[0].frames;
         frames.insert(frames.begin(), {"wait", "/usr/lib/python3.11/threading.py", 5});
         kBeside(e, {{"wait", "/usr/lib/python3.11/threading.py", 5},
                     {"run", "/x/site-packages/tqdm/_monitor.py", 60}});
       }},
      {"a sleep, and children that await orders", true,
       [](Fleet&, Evidence& e) { e.process.children = 4; }},
      {"not all others wait for it", false,
       [](Fleet& fleet, Evidence&) {
         Membership& comm = fleet.rank(0).comms[0];
         comm.pending.clear();
         comm.entered = comm.started = comm.done;
         fleet.stack(0, {{"train", "/home/me/train.py", 9}});
       }},
  };
  for (const Change& change : kChanges) {
    CAPTURE(change.what);
    Fleet fleet(4);
    fleet.world();
    fleet.enter_all_but(1, {2});
    fleet.stack(2, {{"wait_for_data", "/home/me/train.py", 7}});
    Evidence& evidence = fleet.rank(2).evidence;
    evidence.has_process = true;
    evidence.process.state = "S";
    evidence.process.watched = seconds(1);
    evidence.process.main_wait = MainWait::kSleep;
    evidence.process.others_idle = true;
    change.make(fleet, evidence);
    CHECK(fleet.verdict().is_still == change.is_still);
  }
}

TEST_CASE("a member of unknown progress is suspected when no other one is absent") {
  Fleet fleet(4);
  fleet.world();
  fleet.enter_all_but(1, {2, 3});
  fleet.drop(2);
  Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kNeverEntered);
  CHECK(numbers(verdict.culprits) == Ranks{3});  // seen to be absent
  CHECK(verdict.confidence == Confidence::kInferred);
  fleet.enter(1, 3);
  verdict = fleet.verdict();
  CHECK(numbers(verdict.culprits) == Ranks{2});
  CHECK(verdict.confidence == Confidence::kInferred);
  CHECK(verdict.sentence ==
        "rank 2 has no record of all_reduce #7 (48 MB, group world); 3 ranks wait for 10.0 s");
  fleet.drop(1);
  verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kUndecided);
  CHECK(verdict.culprits.empty());
}

TEST_CASE("when all have entered and nothing else is known, no rank is named") {
  Fleet fleet(4);
  fleet.world();
  fleet.enter_all_but(1, {});
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kUndecided);
  CHECK(verdict.confidence == Confidence::kNone);
  CHECK(verdict.culprits.empty());
  CHECK(verdict.victims.size() == 4);
  CHECK(verdict.lasting == seconds(10));
}

TEST_CASE("names from workers never reach the terminal unescaped") {
  Fleet fleet(4);
  fleet.world(1, 6, "a\x1b[2Jb\n");
  fleet.enter_all_but(1, {2});
  fleet.rank(2).node = std::string(10'000, '\a');
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.sentence.find('\x1b') == std::string::npos);
  CHECK(verdict.sentence.find('\n') == std::string::npos);
  CHECK(verdict.nodes.front().find('\a') == std::string::npos);
  CHECK(verdict.sentence.size() < 5000);
}

}  // namespace
}  // namespace robustrun::tracer::analysis_hang_test
