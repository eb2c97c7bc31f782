// Jobs at rest, as dumps of the Flight Recorder show them, and the rules that apply only to them;
// knots of more than two sides.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/tracer/fleet.h"
#include "tracer/flight_memberships.h"

namespace robustrun::tracer::analysis_rest_test {
namespace {

using Ranks = std::vector<std::uint32_t>;

Fleet at_rest(std::uint32_t world) {
  Fleet fleet(world);
  fleet.snapshot.at_rest = true;
  for (RankSnapshot& rank : fleet.snapshot.ranks) rank.life = Life::kUnknown;
  return fleet;
}

// All of the group are inside its next operation.
void all_enter(Fleet& fleet, std::uint64_t comm, const Ranks& ranks, double age = 10) {
  for (const std::uint32_t r : ranks) fleet.enter(comm, r, age);
}

TEST_CASE("of a pair at rest, the rank that has not finished is left behind") {
  for (const bool is_resting : {true, false}) {
    Fleet fleet(4);
    fleet.snapshot.at_rest = is_resting;
    fleet.group(1, {0, 1}, 6, "tp");
    fleet.group(2, {0, 1, 2, 3}, 3, "world");
    all_enter(fleet, 1, {0, 1});
    fleet.finish(1, 1);
    for (const std::uint32_t r : {1U, 2U, 3U}) fleet.enter(2, r);
    const Verdict verdict = fleet.verdict();
    CHECK(verdict.finding == (is_resting ? Finding::kLeftBehind : Finding::kUndecided));
    if (is_resting) CHECK(numbers(verdict.culprits) == Ranks{0});
  }
}

TEST_CASE(
    "one member that has also finished the next operation is enough in groups of two or four") {
  for (const std::uint32_t size : {2U, 4U}) {
    CAPTURE(size);
    Fleet fleet(size);
    fleet.world();
    for (std::uint32_t r = 0; r < size; ++r) {
      const bool is_beyond = r % 2 == 1;
      fleet.enter(1, r);
      if (is_beyond) fleet.finish(1, r);
      fleet.enter(1, r);
      if (is_beyond) fleet.finish(1, r);
      if (is_beyond) fleet.enter(1, r);
    }
    const Verdict verdict = fleet.verdict();
    CHECK(verdict.finding == Finding::kLeftBehind);
    CHECK(numbers(verdict.culprits) == (size == 2 ? Ranks{0} : Ranks{0, 2}));
  }
}

TEST_CASE("a rank that is behind waits for no rank, whatever else it has begun") {
  Fleet fleet = at_rest(4);
  fleet.group(1, {0, 1}, 6, "tp");
  fleet.group(2, {0, 2}, 6, "dp");
  all_enter(fleet, 1, {0, 1});
  fleet.finish(1, 1);
  fleet.enter(1, 1);
  fleet.enter(2, 0);  // rank 2 has not come: it would be blamed if this were a wait
  fleet.group(3, {1, 2}, 6, "ep");
  fleet.enter(3, 2);
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kLeftBehind);
  CHECK(numbers(verdict.culprits) == Ranks{0});
}

TEST_CASE("a rank that has halted waits for no rank, whatever it has pending") {
  Fleet fleet = at_rest(6);
  fleet.group(1, {0, 1}, 6, "tp");
  fleet.group(2, {1, 2}, 6, "dp");
  fleet.group(3, {3, 4, 5}, 6, "ep");
  fleet.enter(1, 1);  // 0 has not come
  fleet.enter(2, 2);  // nor has 1
  fleet.rank(1).halted = true;
  fleet.enter(3, 3);
  fleet.enter(3, 5);
  fleet.rank(4).halted = true;
  CHECK(numbers(fleet.verdict().culprits) == Ranks{0, 1, 4});
}

TEST_CASE("a halted rank is named beside others even if no rank waits for it") {
  Fleet fleet = at_rest(4);
  fleet.group(1, {0, 1}, 6, "tp");
  fleet.group(2, {2, 3}, 6, "tp");
  fleet.enter(1, 1);
  fleet.rank(3).halted = true;
  const Verdict both = fleet.verdict();
  CHECK(both.finding == Finding::kNeverEntered);
  CHECK(both.confidence == Confidence::kInferred);
  CHECK(numbers(both.culprits) == Ranks{0, 3});
  CHECK(both.nodes == std::vector<std::string>{"node0"});
  CHECK(both.sentence.find("; rank 3") != std::string::npos);
  CHECK(both.sentence.find("has stopped calling") != std::string::npos);

  // Alone it is named only if some rank is inside an operation.
  Fleet alone = at_rest(4);
  alone.group(1, {0, 1, 2, 3}, 6, "tp");
  alone.rank(3).halted = true;
  CHECK(alone.verdict().finding == Finding::kNothing);
  for (const std::uint32_t r : {0U, 1U, 2U}) {
    alone.enter(1, r, 10, all_reduce(), Operation::Stage::kQueued);
  }
  CHECK(numbers(alone.verdict().culprits) == Ranks{3});
}

TEST_CASE("while operations are pending, the finding is never kNothing") {
  Fleet fleet = at_rest(2);
  fleet.world();
  for (const std::uint32_t r : {0U, 1U}) {
    fleet.enter(1, r, 10, all_reduce(), Operation::Stage::kQueued);
    fleet.point_to_point(1, r, static_cast<std::int32_t>(1 - r), true, 1, 1);
    fleet.in(1, r).started = 7;
  }
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding != Finding::kNothing);
}

TEST_CASE("a rank that is behind is named even if no rank waits for it directly") {
  Fleet fleet = at_rest(4);
  fleet.group(1, {0, 1}, 6, "tp");
  fleet.group(2, {2, 3}, 6, "tp");
  for (const std::uint64_t comm : {1U, 2U}) {
    const std::uint32_t first = comm == 1 ? 0 : 2;
    all_enter(fleet, comm, {first, first + 1});
    fleet.finish(comm, first + 1);
  }
  fleet.group(3, {1, 3}, 6, "dp");
  all_enter(fleet, 3, {1, 3});
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kLeftBehind);
  CHECK(numbers(verdict.culprits) == Ranks{0, 2});
  CHECK(verdict.ordinal == 7);
}

TEST_CASE("of two stuck GPUs, one is found by what others have finished") {
  Fleet fleet = at_rest(4);
  fleet.group(1, {0, 1}, 6, "tp");
  fleet.group(2, {2, 3}, 6, "tp");
  fleet.enter(1, 1);
  fleet.enter(1, 0, 10, all_reduce(), Operation::Stage::kQueued);
  all_enter(fleet, 2, {2, 3});
  fleet.finish(2, 3);
  fleet.group(3, {1, 3}, 6, "dp");
  fleet.enter(3, 3);
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kGpuBeforeKernel);
  CHECK(numbers(verdict.culprits) == Ranks{0, 2});
}

TEST_CASE("few ranks without a record are named even if no rank waits for them") {
  for (const std::uint32_t missing : {2U, 3U}) {
    Fleet fleet = at_rest(8);
    fleet.group(1, {0, 1, 2, 3}, 6, "tp");
    fleet.group(2, {4, 5, 6, 7}, 6, "tp");
    for (const std::uint32_t r : {0U, 1U, 2U}) fleet.enter(1, r);
    fleet.in(1, 3).counts_completion = false;
    fleet.in(2, 7).counts_completion = false;
    if (missing == 3) fleet.in(2, 6).counts_completion = false;
    const Verdict verdict = fleet.verdict();
    CHECK(verdict.finding == Finding::kNeverEntered);
    CHECK(verdict.confidence == Confidence::kInferred);
    CHECK(numbers(verdict.culprits) == (missing == 2 ? Ranks{3, 7} : Ranks{3}));
  }
}

TEST_CASE("the rank that two operations reached by all have in common is named") {
  Fleet fleet = at_rest(8);
  fleet.group(1, {0, 1, 2, 3}, 6, "tp");
  fleet.group(2, {1, 5}, 6, "dp");
  fleet.world(3);
  all_enter(fleet, 1, {0, 1, 2, 3});
  all_enter(fleet, 2, {1, 5}, 11);
  for (const std::uint32_t r : {4U, 6U, 7U}) fleet.enter(3, r, 9);
  fleet.enter(3, 5, 9, all_reduce(), Operation::Stage::kQueued);
  for (const std::uint32_t r : {0U, 1U, 2U, 3U}) {
    fleet.enter(3, r, 9, all_reduce(), Operation::Stage::kQueued);
  }
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kGpuInKernel);
  CHECK(verdict.confidence == Confidence::kInferred);
  CHECK(numbers(verdict.culprits) == Ranks{1});
  CHECK(verdict.victims.size() == 7);

  fleet.snapshot.at_rest = false;  // where flows and stages are known, other rules decide
  CHECK(fleet.verdict().finding == Finding::kUndecided);
}

TEST_CASE("for one such operation, the member far ahead is named, else all members are listed") {
  Fleet fleet = at_rest(4);
  fleet.group(1, {0, 1, 2, 3}, 6, "tp");
  fleet.group(2, {0, 1, 2, 3}, 6, "dp");
  all_enter(fleet, 1, {0, 1, 2, 3});
  Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kUndecided);
  CHECK(verdict.culprits.empty());
  CHECK(verdict.sentence.starts_with("ranks 0, 1, 2 and 3 (node0) have all reached all_reduce #7"));
  for (int i = 0; i < 6; ++i) {
    fleet.enter(2, 2, 9, all_reduce(), Operation::Stage::kQueued);
  }
  verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kGpuInKernel);
  CHECK(numbers(verdict.culprits) == Ranks{2});
}

// Ranks 0 to 3 in pairs, group i of ranks i and i + 1; in the groups of `stuck` all members have
// entered the next operation.
Fleet pairs(const Ranks& stuck) {
  Fleet fleet = at_rest(4);
  for (std::uint32_t i = 0; i < 4; ++i) {
    fleet.group(i + 1, {i, (i + 1) % 4}, 6, "pair " + std::to_string(i));
  }
  for (const std::uint32_t i : stuck) all_enter(fleet, i + 1, {i, (i + 1) % 4});
  return fleet;
}

TEST_CASE("the stuck GPU is the one that the groups with unfinished operations share") {
  for (std::uint32_t rank = 0; rank < 4; ++rank) {
    CAPTURE(rank);
    const Verdict verdict = pairs({(rank + 3) % 4, rank}).verdict();
    CHECK(verdict.finding == Finding::kGpuInKernel);
    CHECK(verdict.confidence == Confidence::kInferred);
    CHECK(numbers(verdict.culprits) == Ranks{rank});
    CHECK(verdict.victims.size() == 2);
  }
}

TEST_CASE("with one unfinished operation, or two without a common rank, groups are named") {
  for (std::uint32_t group = 0; group < 4; ++group) {
    CAPTURE(group);
    const Verdict verdict = pairs({group}).verdict();
    CHECK(verdict.finding == Finding::kUndecided);
    CHECK(verdict.culprits.empty());
    CHECK(verdict.group == "pair " + std::to_string(group));
  }
  const Verdict two = pairs({0, 2}).verdict();
  CHECK(two.culprits.empty());
  REQUIRE(two.evidence.size() == 3);
  CHECK(two.evidence[0].starts_with("ranks 0 and 1 (node0) have all reached all_reduce #7"));
  CHECK(two.evidence[1].starts_with("ranks 2 and 3 (node0) have all reached all_reduce #7"));
}

// One rank's dump: its calls in the order of the ring, (group, number, whether it is done).
struct Call {
  std::string group;
  std::uint64_t number = 0;
  bool is_done = false;
};
FlightRecording dump_of(const std::vector<Call>& calls) {
  FlightRecording recording;
  recording.complete = true;
  // A dump lists the members of the rank's own groups only.
  const auto is_in = [&](const char* group) {
    return std::ranges::find(calls, group, &Call::group) != calls.end();
  };
  if (is_in("a")) recording.groups.push_back({"a", "a", {0, 1}});
  if (is_in("b")) recording.groups.push_back({"b", "b", {0, 2}});
  for (const Call& call : calls) {
    RecordedEntry& entry = recording.entries.emplace_back();
    entry.group = call.group == "a" ? 1 : 2;
    entry.group_name = entry.group_description = call.group;
    entry.operation = "nccl:all_reduce";
    entry.collective = call.number;
    entry.input_sizes = {{64}};
    entry.input_types = {"Float"};
    entry.created_ns = 1000;
    if (call.is_done) entry.state = RecordedEntry::State::kCompleted;
  }
  return recording;
}

// Rank 0 is in group a with rank 1 and in group b with rank 2, which are inside operation 2.
Verdict verdict_of(const std::vector<Call>& calls_of_0, const RestingJob& resting = {}) {
  Fleet fleet = at_rest(3);
  const std::vector<FlightRecording> dumps = {dump_of(calls_of_0),
                                              dump_of({{"a", 1, true}, {"a", 2}}),
                                              dump_of({{"b", 1, true}, {"b", 2}})};
  for (std::uint32_t r = 0; r < 3; ++r) {
    fleet.rank(r).comms = memberships(dumps[r], {}, r, 2000, &resting);
  }
  return fleet.verdict();
}

TEST_CASE("the order of calls in the ring decides which group's operation is stuck") {
  const Call a1{"a", 1, true}, b1{"b", 1, true}, a2{"a", 2}, b2{"b", 2};
  const Verdict a_first = verdict_of({a1, b1, a2, b2});
  CHECK(a_first.culprits.empty());
  CHECK(a_first.group == "a");
  CHECK(a_first.sentence.starts_with("ranks 0 and 1 (node0) have all reached all_reduce #2"));
  const Verdict b_first = verdict_of({a1, b1, b2, a2});
  CHECK(b_first.culprits.empty());
  CHECK(b_first.group == "b");
  CHECK(b_first.sentence.starts_with("ranks 0 and 2 (node0) have all reached all_reduce #2"));

  // If the groups run concurrently, both operations have begun, and the rank in both is named.
  const Verdict both = verdict_of({a1, b1, a2, b2}, {.beside = {"a", "b"}});
  CHECK(both.finding == Finding::kGpuInKernel);
  CHECK(numbers(both.culprits) == Ranks{0});

  // A rank that has finished what its peer is inside: the peer is left behind, not stuck with it.
  const Verdict ahead = verdict_of({a1, b1, {"a", 2, true}, b2});
  CHECK(ahead.finding == Finding::kLeftBehind);
  CHECK(numbers(ahead.culprits) == Ranks{1});
}

TEST_CASE("pending operations do not excuse a silent rank") {
  Fleet fleet = at_rest(4);
  fleet.group(1, {0, 1}, 6, "tp");
  fleet.group(2, {0, 2, 3}, 6, "dp");
  fleet.enter(1, 1);
  fleet.enter(2, 0);
  fleet.enter(2, 2);
  fleet.group(3, {1, 3}, 6, "pp");
  fleet.enter(3, 3);  // waits for 1, which waits for 0, which waits for 3
  CHECK(fleet.verdict().finding == Finding::kOrderInversion);
  fleet.rank(0).silent = true;
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kNeverEntered);
  CHECK(numbers(verdict.culprits) == Ranks{0});
}

TEST_CASE("at rest all missing ranks count, however short the wait for them") {
  for (const bool is_resting : {true, false}) {
    Fleet fleet(4);
    fleet.snapshot.at_rest = is_resting;
    fleet.group(1, {0, 1}, 6, "a");
    fleet.group(2, {2, 3}, 6, "b");
    fleet.enter(1, 0, 10);
    fleet.enter(2, 2, 0.01);
    CHECK(numbers(fleet.verdict().culprits) == (is_resting ? Ranks{1, 3} : Ranks{1}));
  }
}

TEST_CASE("partial counts of sends are compared by what is pending") {
  for (const bool is_there : {true, false}) {
    Fleet fleet = at_rest(3);
    fleet.group(1, {0, 1, 2}, 0, "pp");
    fleet.point_to_point(1, 0, 1, false, 9, 8);
    fleet.point_to_point(1, 1, 0, true, is_there ? 31 : 30, 30);
    fleet.point_to_point(1, 1, 2, false, 5, is_there ? 4 : 5);
    for (RankSnapshot& rank : fleet.snapshot.ranks) {
      for (PeerCount& count : rank.comms[0].peers) count.is_part = true;
    }
    const Verdict verdict = fleet.verdict();
    CHECK(verdict.finding == Finding::kNeverEntered);
    CHECK(numbers(verdict.culprits) == Ranks{is_there ? 2U : 1U});
  }
}

TEST_CASE("a circle of three groups of four ranks shows all ranks in it") {
  Fleet fleet(4);
  fleet.group(1, {0, 1, 2}, 6, "a");
  fleet.group(2, {1, 3}, 6, "b");
  fleet.group(3, {0, 2, 3}, 6, "c");
  fleet.enter(1, 0, 12);  // waits for 1
  fleet.enter(1, 2, 12);
  fleet.enter(2, 1, 12);  // waits for 3
  fleet.enter(3, 3, 12);  // waits for 0 and 2
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kOrderInversion);
  for (const std::string piece : {"rank 1 (node0, local 1) is in", "rank 3 (node0, local 3) is in",
                                  "ranks 0 and 2 (node0) are in", "they wait in a circle"}) {
    CAPTURE(piece);
    CHECK(verdict.sentence.find(piece) != std::string::npos);
  }
  CHECK(verdict.sentence.find("each other") ==
        std::string::npos);  // 1 and 0 share no operation of 3
}

// Rank `r` called operation `ordinal` of `comm` at time `at`, in seconds.
void called(Fleet& fleet, std::uint64_t comm, std::uint32_t r, std::uint64_t ordinal, double at) {
  fleet.in(comm, r).recent.push_back({ordinal, all_reduce(), seconds(at)});
}

TEST_CASE(
    "a rank that called one operation fewer than the others before the same one left it out") {
  for (const std::uint32_t odd : {1U, 3U}) {
    CAPTURE(odd);
    Fleet fleet(4);
    fleet.group(1, {0, 1}, 2, "tp");
    fleet.group(2, {2, 3}, 2, "tp");
    fleet.group(3, {0, 1, 2, 3}, 4, "world");
    for (std::uint32_t r = 0; r < 4; ++r) {
      const std::uint64_t comm = r < 2 ? 1 : 2;
      const bool is_waiting = r == (odd ^ 1U);  // inside the operation that the odd rank left out
      called(fleet, comm, r, 1, 101);
      called(fleet, comm, r, 2, 102);
      if (is_waiting) fleet.enter(comm, r, 12);
      if (r != odd && !is_waiting) {
        called(fleet, comm, r, 3, 103);
        fleet.in(comm, r).entered = fleet.in(comm, r).started = fleet.in(comm, r).done = 3;
      }
      if (!is_waiting) {
        fleet.enter(3, r, 12);
        fleet.in(3, r).recent.back().entered_at = seconds(104);
      }
    }
    const Verdict verdict = fleet.verdict();
    CHECK(verdict.finding == Finding::kOrderInversion);
    CHECK(numbers(verdict.culprits) == Ranks{odd});
    const std::string part =
        "has left an operation out or calls the operations in a different order than most";
    CHECK(verdict.sentence.find(part) != std::string::npos);
  }
}

}  // namespace
}  // namespace robustrun::tracer::analysis_rest_test
