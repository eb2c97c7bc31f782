#include "supervisor/core/status/node_note.h"

#include <doctest/doctest.h>
#include <fmt/core.h>

#include "supervisor/core/status/node_standing.h"
#include "tests/supervisor/preflight_facts.h"
#include "tests/supervisor/story.h"

namespace robustrun::supervisor::node_note_test {
namespace {

using namespace scenarios;
using namespace std::chrono_literals;

Story three_nodes() {
  Story story;
  story.run({{"n1", "10.0.0.1", 2}, {"n2", "10.0.0.2", 2}, {"n3", "10.0.0.3", 2}});
  return story;
}

Story three_nodes_joined() {
  Story story = three_nodes();
  for (std::uint32_t node = 0; node < 3; ++node) story.event(1, AgentJoined{10, {}, 0}, node);
  return story;
}

AgentLost lost(bool node_answers, std::string why = "no sign of life for 10 s") {
  return {std::move(why), node_answers, 10s};
}

Diagnosed hang(Diagnosed::Stage stage, tracer::Finding finding, std::vector<std::string> nodes) {
  Diagnosed body;
  body.stage = stage;
  body.verdict.finding = finding;
  body.verdict.nodes = std::move(nodes);
  body.verdict.sentence = "rank 2 is stopped";
  return body;
}

// "n2 lost: why; n3 unfit: …"
std::string noted(const Story& story) {
  std::string text;
  for (const NodeNote& note : notes_of(story.entries)) {
    text += fmt::format("{}{} {}: {}", text.empty() ? "" : "; ", note.host, to_string(note.kind),
                        note.text);
  }
  return text;
}

TEST_CASE("a host that never had an agent in this run is not blamed: its name may be mistyped") {
  Story story = three_nodes();
  story.event(2000, lost(false, "cannot find the address of n2"), 1);
  CHECK(noted(story).empty());
}

TEST_CASE("what is forgotten is dropped, later notes are kept") {
  std::vector<NodeNote> notes = {{"n1", 5s, "a", NoteKind::kLost, "one"},
                                 {"n2", 5s, "a", NoteKind::kLost, "two"},
                                 {"n1", 6s, "forgotten", NoteKind::kForgotten, ""},
                                 {"n1", 7s, "b", NoteKind::kSlow, "three"}};
  drop_forgotten(notes);
  REQUIRE(notes.size() == 2);
  CHECK(notes[0].text == "two");
  CHECK(notes[1].text == "three");
}

TEST_CASE("a machine that does not answer is blamed, an agent that died alone is not") {
  Story story = three_nodes_joined();
  story.event(1000, lost(true, "it was killed"), 0);
  story.event(2000, lost(false), 1);
  CHECK(noted(story) == "n2 lost: no sign of life for 10 s");
  const NodeNote note = notes_of(story.entries).front();
  CHECK(note.run_id == "brave-otter-4711");
  CHECK(note.wall_time == 1785578402s);
}

TEST_CASE("a machine that was evicted is blamed, of several at once none") {
  Story story = three_nodes();
  const auto evicted = [&](double at_ms, std::string text, std::vector<base::NodeId> nodes) {
    story.entries.push_back(
        {kStart + ms(at_ms),
         Decision{Rule::kNodeEvicted, {}, std::move(text), {}, {}, {}, std::move(nodes)}});
  };
  evicted(1000, "n1 and n2 are evicted: cause unknown", {{0}, {1}});
  evicted(2000, "n3 is evicted: it is broken", {{2}});
  CHECK(noted(story) == "n3 unfit: n3 is evicted: it is broken");
}

TEST_CASE("a fault that shows many times is noted once, another one of the same host again") {
  Story story = three_nodes_joined();
  story.event(1000, lost(false, "first"), 1);
  story.event(2000, lost(false, "second"), 1);
  story.event(3000, hang(Diagnosed::Stage::kConvicted, tracer::Finding::kStopped, {"n2"}));
  CHECK(noted(story) == "n2 lost: first; n2 hang: rank 2 is stopped");
}

TEST_CASE("whose node is taken away on purpose did not fail") {
  Story story = three_nodes_joined();
  story.event(500, NodeEnding{"preempted"}, 2);
  story.event(1000, lost(false), 2);
  CHECK(noted(story).empty());
}

TEST_CASE("a node that was left to the scheduler may be switched off; one that came back may not") {
  Story story = three_nodes_joined();
  const auto decided = [&story](int at_ms, Rule rule) {
    story.entries.push_back(
        {kStart + ms(at_ms), Decision{rule, {}, "n3: it is draining", {}, {}, {}, {{2}}}});
  };
  decided(500, Rule::kNodeDrained);
  story.event(1000, lost(false), 2);
  CHECK(noted(story).empty());
  decided(1500, Rule::kNodeReturned);
  story.event(2000, lost(false), 2);
  CHECK(noted(story) == "n3 lost: no sign of life for 10 s");
}

TEST_CASE("a hang is noted once it is convicted, slowness when it is seen") {
  Story story = three_nodes();
  story.event(1000, hang(Diagnosed::Stage::kSuspected, tracer::Finding::kStopped, {"n1"}));
  story.event(1500, hang(Diagnosed::Stage::kPassed, tracer::Finding::kStopped, {"n1"}));
  CHECK(noted(story).empty());
  story.event(2000, hang(Diagnosed::Stage::kSuspected, tracer::Finding::kSlowRank, {"n3"}));
  CHECK(noted(story) == "n3 slow: rank 2 is stopped");
}

TEST_CASE("a verdict about the script, or about a run that succeeds, blames no machine") {
  using tracer::Finding;
  for (const Finding finding :
       {Finding::kNotEnded, Finding::kMismatch, Finding::kOrderInversion, Finding::kLongPhase}) {
    CAPTURE(to_string(finding));
    Story story = three_nodes();
    story.event(1000, hang(Diagnosed::Stage::kConvicted, finding, {"n1"}));
    CHECK(noted(story).empty());
  }
}

TEST_CASE("a wait for a worker that ended with exit code 0 blames no machine") {
  for (const int code : {0, 1}) {
    CAPTURE(code);
    Diagnosed died = hang(Diagnosed::Stage::kConvicted, tracer::Finding::kDied, {"n1"});
    died.verdict.culprits = {{1}};
    Story story = three_nodes();
    story.event(1000, exited(0, 1, ExitStatus::Kind::kExited, code, 1000));
    story.event(2000, died);
    CHECK(noted(story) == (code == 0 ? "" : "n1 hang: rank 2 is stopped"));
    died.attempt = {1};  // in which it has not ended
    story.event(3000, died);
    CHECK(noted(story) == "n1 hang: rank 2 is stopped");
  }
}

TEST_CASE("a hang that returns to a line of the script is no machine's") {
  const auto at_line = [](std::string line, std::vector<std::string> nodes) {
    Diagnosed body =
        hang(Diagnosed::Stage::kConvicted, tracer::Finding::kStopped, std::move(nodes));
    body.verdict.script_line = std::move(line);
    return body;
  };
  Story story = three_nodes();
  story.event(1000, at_line("train.py:87", {"n1"}));
  story.event(2000, at_line("train.py:12", {"n2"}));
  CHECK(noted(story) == "n1 hang: rank 2 is stopped; n2 hang: rank 2 is stopped");
  story.event(3000, at_line("train.py:87", {"n3"}));
  CHECK(noted(story) == "n2 hang: rank 2 is stopped");
  story.event(4000, hang(Diagnosed::Stage::kConvicted, tracer::Finding::kStopped, {"n1"}));
  CHECK(noted(story) == "n2 hang: rank 2 is stopped; n1 hang: rank 2 is stopped");
}

TEST_CASE("a death of the user's code blames no machine") {
  Story story = three_nodes();
  story.event(1000, exited(0, 1, ExitStatus::Kind::kExited, 1, 1000));
  CHECK(noted(story).empty());
}

TEST_CASE("a check blames unfit nodes and clears those that pass a full one") {
  NodesChecked checked;
  checked.full = true;
  for (std::uint32_t i = 0; i < 3; ++i) checked.nodes.push_back(test::healthy(i));
  checked.nodes[1].answered = false;
  checked.nodes[1].trouble = "it gave no answer";
  Story story = three_nodes();
  story.event(1000, checked);
  const auto notes = notes_of(story.entries);
  REQUIRE(notes.size() == 3);
  CHECK(notes[0].host == "n1");
  CHECK(notes[0].kind == NoteKind::kCleared);
  CHECK(notes[1].host == "n2");
  CHECK(notes[1].kind == NoteKind::kUnfit);
  CHECK(notes[1].text.find("no answer") != std::string::npos);
  CHECK(notes[2].kind == NoteKind::kCleared);

  SUBCASE("a fast check clears no node") {
    checked.full = false;
    Story fast = three_nodes();
    fast.event(1000, checked);
    CHECK(notes_of(fast.entries).size() == 1);
  }
  SUBCASE("a host that lacks the script is not blamed") {
    checked.nodes[1] = test::healthy(1);
    checked.nodes[1].facts.missing = "train.py is not on this machine";
    Story lacking = three_nodes();
    lacking.event(1000, checked);
    CHECK(notes_of(lacking.entries).size() == 2);  // the others, as cleared
  }
  SUBCASE("where all are unfit it is the job's fault") {
    for (NodeCheck& node : checked.nodes) node.answered = false;
    Story none = three_nodes();
    none.event(1000, checked);
    CHECK(notes_of(none.entries).empty());
  }
}

TEST_CASE("a journal without a beginning has no notes") {
  Story story;
  story.event(1000, lost(false), 1);
  CHECK(notes_of(story.entries).empty());
  CHECK(notes_of({}).empty());
}

NodeNote note(std::string host, int day, std::string run, NoteKind kind) {
  return {std::move(host), std::chrono::days(day), std::move(run), kind, ""};
}

constexpr base::Nanos kToday = std::chrono::days(100);

TEST_CASE("a host lost in two runs is an offender, one lost in one is not") {
  const auto all =
      standings({note("b", 99, "r1", NoteKind::kLost), note("a", 98, "r1", NoteKind::kLost),
                 note("a", 99, "r2", NoteKind::kUnfit)},
                kToday);
  REQUIRE(all.size() == 2);
  CHECK(all[0].host == "a");
  CHECK(all[0].is_offender);
  CHECK(in_words(all[0]) == "lost in 1 run, unfit in 1 run");
  CHECK(all[0].last == std::chrono::days(99));
  CHECK_FALSE(all[1].is_offender);
}

TEST_CASE("hangs and slowness weigh less, and many of one run weigh as one") {
  std::vector<NodeNote> notes;
  for (int i = 0; i < 3; ++i) {
    notes.push_back(note("a", 90 + i, "r" + std::to_string(i), NoteKind::kHang));
    notes.push_back(note("a", 90 + i, "r" + std::to_string(i), NoteKind::kHang));
  }
  CHECK_FALSE(standings(notes, kToday)[0].is_offender);
  notes.push_back(note("a", 95, "r9", NoteKind::kSlow));
  const auto all = standings(notes, kToday);
  CHECK(all[0].is_offender);
  CHECK(in_words(all[0]) == "hang in 3 runs, slow in 1 run");
  CHECK(all[0].runs == 4);
}

TEST_CASE("one bad run is no habit, however bad it was") {
  const auto all =
      standings({note("a", 99, "r1", NoteKind::kLost), note("a", 99, "r1", NoteKind::kUnfit),
                 note("a", 99, "r1", NoteKind::kHang)},
                kToday);
  CHECK(all[0].weight >= kOffenderWeight);
  CHECK_FALSE(all[0].is_offender);
}

TEST_CASE("a full check clears what was before it, and age clears the rest") {
  std::vector<NodeNote> notes = {note("a", 80, "r1", NoteKind::kLost),
                                 note("a", 85, "r2", NoteKind::kLost),
                                 note("a", 90, "r3", NoteKind::kCleared)};
  auto all = standings(notes, kToday);
  CHECK(all[0].was_cleared);
  CHECK_FALSE(all[0].is_offender);
  CHECK(in_words(all[0]) == "cleared by a full check");
  notes.push_back(note("a", 95, "r4", NoteKind::kLost));
  all = standings(notes, kToday);
  CHECK_FALSE(all[0].was_cleared);
  CHECK(all[0].weight == kSureWeight);
  CHECK(standings(notes, std::chrono::days(130)).empty());
}

TEST_CASE("notes of clocks that are ahead count") {
  const auto all = standings(
      {note("a", 101, "r1", NoteKind::kLost), note("a", 150, "r2", NoteKind::kLost)}, kToday);
  CHECK(all[0].is_offender);
}

}  // namespace
}  // namespace robustrun::supervisor::node_note_test
