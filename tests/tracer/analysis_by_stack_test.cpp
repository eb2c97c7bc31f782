// R2 without records: operations that are not recorded at all, and members that have not reached
// their first one.
#include <doctest/doctest.h>

#include <string>

#include "tests/tracer/fleet.h"
#include "tracer/analysis/limits.h"

namespace robustrun::tracer::analysis_by_stack_test {
namespace {

using Ranks = std::vector<std::uint32_t>;

Frame c10d(std::string function) {
  return {std::move(function), "/v/site-packages/torch/distributed/distributed_c10d.py", 2400};
}
Frame own(std::uint32_t line, std::string call = {}) {
  return {"main", "/home/me/p2p.py", line, std::move(call)};
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Three ranks in a row: 0 sends to 1, 1 to 2; nothing of it is recorded.
struct Row3 : Fleet {
  Row3() : Fleet(3) {
    world();
    stack(0, {c10d("send"), own(20, "dist.send(x, dst=1)")});
    stack(2, {c10d("recv"), own(40, "dist.recv(x, src=1)")});
    for (std::uint32_t r = 0; r < 3; ++r) rank(r).step_age = seconds(18 + r);
  }
};

TEST_CASE("a rank in the script while others are in sends and receives is named, as inferred") {
  Row3 fleet;
  fleet.stack(1, {own(30)});
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kNeverEntered);
  CHECK(verdict.confidence == Confidence::kInferred);
  CHECK(numbers(verdict.culprits) == Ranks{1});
  CHECK(numbers(verdict.victims) == Ranks{0, 2});
  CHECK(verdict.by_stacks);
  CHECK(verdict.lasting == seconds(18));
  CHECK(verdict.place == "main (p2p.py:30)");
  CHECK(verdict.script_line == "p2p.py:30");
  CHECK(verdict.sentence ==
        "rank 1 (node0, local 1) has not reached the calls that the others wait in for 18.0 s; "
        "it is in main (p2p.py:30); rank 0 waits in send at p2p.py:20: dist.send(x, dst=1), rank 2 "
        "waits in recv "
        "at p2p.py:40: dist.recv(x, src=1)");
}

TEST_CASE("a rank that waits for its own request is recognised by the line that it is in") {
  Row3 fleet;
  fleet.rank(2).evidence = {};
  fleet.stack(2, {own(44, "requests[0].wait()")});
  fleet.stack(1, {own(30)});
  CHECK(numbers(fleet.verdict().victims) == Ranks{0, 2});
  // A call below the line that waits is the script's business.
  fleet.rank(2).evidence = {};
  fleet.stack(2, {{"load", "/home/me/other.py", 7}, own(44, "requests[0].wait()")});
  CHECK(numbers(fleet.verdict().victims) == Ranks{0});
}

// Ranks that wait, each with one stack, at lines 20, 30, …
Verdict where_all_wait(const std::vector<std::vector<Frame>>& stacks) {
  Fleet fleet(static_cast<std::uint32_t>(stacks.size()));
  fleet.world(1, 0);
  for (std::uint32_t r = 0; r < stacks.size(); ++r) {
    std::vector<Frame> frames = stacks[r];
    frames.push_back(own(20 + 10 * r));
    fleet.stack(r, frames);
    fleet.rank(r).step_age = seconds(18);
  }
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kUndecided);
  CHECK(verdict.by_stacks);
  return verdict;
}

TEST_CASE("where ranks wait in calls that cannot match, their lines are the script's place") {
  CHECK(where_all_wait({{c10d("recv")}, {c10d("recv")}}).script_line == "p2p.py:20, p2p.py:30");
  CHECK(where_all_wait({{c10d("send")}, {c10d("send")}}).script_line == "p2p.py:20, p2p.py:30");
  CHECK(where_all_wait({{c10d("all_reduce")}, {c10d("barrier")}, {c10d("barrier")}}).script_line ==
        "p2p.py:20, p2p.py:30, p2p.py:40");
  Fleet pair(2);
  pair.world();
  for (std::uint32_t r = 0; r < 2; ++r) {
    pair.stack(r, {c10d("recv"), own(20, "dist.recv(x, src=1 - rank)")});
    pair.rank(r).step_age = seconds(18);
  }
  CHECK(pair.verdict().script_line == "p2p.py:20");
}

TEST_CASE("where the network may be the cause, ranks that wait for each other have no place") {
  const auto has_none = [](const std::vector<std::vector<Frame>>& stacks) {
    return where_all_wait(stacks).script_line.empty();
  };
  const std::vector<Frame> reduces = {c10d("all_reduce")}, receives = {c10d("recv")};
  CHECK(has_none({reduces, reduces, reduces}));
  CHECK(has_none({receives, {c10d("send")}}));
  CHECK(has_none({receives, {c10d("send")}, reduces}));
  CHECK(has_none({{c10d("batch_isend_irecv")}, receives}));
  // Of these ranks it is unknown what they wait for.
  CHECK(has_none({{c10d("new_group")}, reduces}));
  CHECK(has_none({{}, {}, reduces}));  // as in backward()
  CHECK(has_none({{{"traceback", "/usr/lib/python3/traceback.py", 7}}, reduces}));
  CHECK(
      has_none({{{"all_reduce", "/v/torch/distributed/_functional_collectives.py", 7}}, receives}));
}

TEST_CASE("ranks inside a recorded operation that all have entered have no place") {
  Fleet fleet(2);
  fleet.world();
  for (std::uint32_t r = 0; r < 2; ++r) {
    fleet.enter(1, r, 18);
    fleet.stack(r, {c10d("all_reduce"), own(20 + 10 * r)});
  }
  CHECK(fleet.verdict().finding == Finding::kUndecided);
  CHECK(fleet.verdict().script_line.empty());
}

TEST_CASE("ranks that are absent at different lines have their lines as place") {
  Fleet fleet(5);
  fleet.world();
  for (std::uint32_t r = 0; r < 5; ++r) {
    fleet.rank(r).step_age = seconds(18);
    if (r < 2) {
      fleet.stack(r, {own(30 + r)});
    } else {
      fleet.stack(r, {c10d("recv"), own(40, "dist.recv(x, src=1)")});
    }
  }
  CHECK(numbers(fleet.verdict().culprits) == Ranks{0, 1});
  CHECK(fleet.verdict().script_line == "p2p.py:30, p2p.py:31");
}

TEST_CASE("data loaders, checkpoints and stopped processes keep their names") {
  Row3 loads;
  loads.stack(1, loader_stack());
  CHECK(loads.verdict().finding == Finding::kInputStall);
  Row3 saves;
  saves.stack(1, {{"save", "/v/site-packages/torch/serialization.py", 9}, own(30)});
  CHECK(saves.verdict().finding == Finding::kLongPhase);
  CHECK(saves.verdict().script_line.empty());  // storage may be the cause
  Row3 stopped;
  stopped.rank(1).life = Life::kStopped;
  CHECK(stopped.verdict().finding == Finding::kStopped);
  CHECK(contains(stopped.verdict().sentence, "rank 1 (node0, local 1) is stopped"));
  CHECK(numbers(stopped.verdict().victims) == Ranks{0, 2});
}

TEST_CASE("of several ranks in the script, those that are moving are left out") {
  Fleet fleet(6);
  fleet.world();
  for (const std::uint32_t r : {0U, 1U, 2U, 3U}) fleet.stack(r, {c10d("recv"), own(40)});
  fleet.stack(4, {own(30)});
  fleet.stack(5, {own(31)});
  CHECK(numbers(fleet.verdict().culprits) == Ranks{4, 5});
  fleet.rank(5).evidence.stacks_moved = true;
  CHECK(numbers(fleet.verdict().culprits) == Ranks{4});
}

TEST_CASE(
    "when all wait, or most are in the script, no rank is accused, and the verdict is undecided") {
  Row3 knot;
  knot.stack(1, {c10d("recv"), own(31, "dist.recv(x, src=2)")});
  Verdict verdict = knot.verdict();
  CHECK(verdict.finding == Finding::kUndecided);
  CHECK(verdict.culprits.empty());
  CHECK(verdict.by_stacks);
  CHECK(contains(verdict.sentence, "rank 1 waits in recv at p2p.py:31: dist.recv(x, src=2)"));
  Row3 busy;
  busy.rank(0).evidence = {};
  busy.stack(0, {own(21)});
  busy.stack(1, {own(30)});
  CHECK(busy.verdict().finding == Finding::kUndecided);
}

TEST_CASE("while an operation is recorded as unfinished, it counts and not the stacks") {
  Row3 fleet;
  fleet.stack(1, {own(30)});
  fleet.enter(1, 0);
  const Verdict verdict = fleet.verdict();
  CHECK_FALSE(verdict.by_stacks);
  CHECK(verdict.ordinal == 7);
}

TEST_CASE("a stack in a collective that would be recorded is of another moment") {
  Row3 fleet;
  for (const std::uint32_t r : {0U, 2U}) {
    fleet.rank(r).evidence = {};
    fleet.stack(r, {c10d("all_reduce"), own(20)});
  }
  fleet.stack(1, {own(30)});
  CHECK(fleet.verdict().finding == Finding::kNothing);
  for (RankSnapshot& rank : fleet.snapshot.ranks) rank.comms.clear();  // torch without a recorder
  CHECK(numbers(fleet.verdict().culprits) == Ranks{1});
}

TEST_CASE("a job of one rank, ranks without stacks and ranks in the script accuse no rank") {
  Fleet one(1);
  one.stack(0, {c10d("recv"), own(1)});
  CHECK(one.verdict().culprits.empty());
  Fleet unseen(3);
  unseen.world();
  CHECK(unseen.verdict().finding == Finding::kNothing);
  Fleet script(3);
  script.world();
  for (std::uint32_t r = 0; r < 3; ++r) script.stack(r, {own(r)});
  CHECK(script.verdict().finding == Finding::kNothing);
}

// Ranks 0 and 1 are in the first operation, of which rank 2 has no record.
struct First : Fleet {
  First() : Fleet(3) {
    group(1, {0, 1}, 0, "world");
    for (const std::uint32_t r : {0U, 1U}) in(1, r).size = 3;
    enter_all_but(1, {});
  }
};

TEST_CASE("a member without a record, in a line of the script, is named as not entered") {
  First fleet;
  fleet.stack(2, {own(12)});
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kNeverEntered);
  CHECK(verdict.confidence == Confidence::kExact);
  CHECK(numbers(verdict.culprits) == Ranks{2});
  CHECK(numbers(verdict.victims) == Ranks{0, 1});
  CHECK(verdict.script_line == "p2p.py:12");
  CHECK(verdict.lasting == seconds(10));
  CHECK(verdict.sentence ==
        "rank 2 (node0, local 2) has not entered all_reduce #1 (48 MB, group world) for 10.0 s; it "
        "is in main (p2p.py:12); 2 ranks wait for it");
}

TEST_CASE(
    "without its stack, or inside a call of torch, a member without a record is a suspicion") {
  First unknown;
  CHECK(unknown.verdict().confidence == Confidence::kInferred);
  CHECK(contains(unknown.verdict().sentence, "has no record of"));
  First calls;
  calls.stack(2, {c10d("init_process_group"), own(12)});
  CHECK(contains(calls.verdict().sentence, "has no record of"));
}

TEST_CASE("of several ranks without a record, those in the script are named") {
  Fleet fleet(4);
  fleet.group(1, {0, 1}, 0, "world");
  for (const std::uint32_t r : {0U, 1U}) fleet.in(1, r).size = 4;
  fleet.enter_all_but(1, {});
  fleet.stack(2, {c10d("init_process_group"), own(11)});
  fleet.stack(3, {own(12)});
  const Verdict verdict = fleet.verdict();
  CHECK(numbers(verdict.culprits) == Ranks{3});
  CHECK(verdict.confidence == Confidence::kInferred);
}

}  // namespace
}  // namespace robustrun::tracer::analysis_by_stack_test
