// What ranks had called when one of them failed: R6 by the last reports of the dead.
#include <doctest/doctest.h>

#include "tests/tracer/fleet.h"

namespace robustrun::tracer::analysis_failed_test {
namespace {

using Ranks = std::vector<std::uint32_t>;

// A failed call, which the rank's recorder shows like one that is done.
void fail_in(Fleet& fleet, std::uint64_t comm, std::uint32_t rank, const Signature& signature,
             double age = 1) {
  fleet.enter(comm, rank, age, signature);
  Membership& m = fleet.in(comm, rank);
  m.recent.back().entered_at = seconds(1000 - age);
  fleet.finish(comm, rank);
  fleet.rank(rank).life = Life::kDead;
  fleet.rank(rank).end = "exit code 1";
}

// One earlier call, alike everywhere.
Fleet group_of(std::uint32_t world) {
  Fleet fleet(world, 8);
  fleet.world();
  for (std::uint32_t r = 0; r < world; ++r) fail_in(fleet, 1, r, all_reduce(10), 500);
  return fleet;
}

TEST_CASE(
    "of eight ranks one called a different size, and its neighbour died of it without a message") {
  Fleet fleet = group_of(8);
  for (const std::uint32_t r : {0U, 1U, 2U, 5U, 6U, 7U}) fail_in(fleet, 1, r, all_reduce(64));
  fail_in(fleet, 1, 4, all_reduce(128));
  SUBCASE("its earlier reports are known") {}
  SUBCASE("nothing is known of it") { fleet.rank(3).comms.clear(); }
  SUBCASE("it is not there") { fleet.drop(3); }
  SUBCASE("some are still alive, and inside") {
    for (const std::uint32_t r : {0U, 1U}) {
      fleet.rank(r).life = Life::kRunning;
      Membership& m = fleet.in(1, r);
      m.done -= 1;
      m.pending.push_back({.ordinal = m.entered, .signature = all_reduce(64)});
    }
  }
  const Verdict verdict = analyze_failed(fleet.snapshot);
  CHECK(verdict.finding == Finding::kMismatch);
  CHECK(verdict.confidence == Confidence::kMajority);
  CHECK(numbers(verdict.culprits) == Ranks{4});
  CHECK(verdict.ordinal == 8);
  CHECK(verdict.sentence.starts_with(
      "rank 4 (node0, local 4) calls all_reduce of 128 float32 as operation #8 (group world), but "
      "ranks 0, 1, 2"));
}

TEST_CASE("a rank that ended well is named with the operation that others were in") {
  Fleet fleet = group_of(3);
  fail_in(fleet, 1, 0, all_reduce(64));
  fleet.rank(1).end = "exit code 0";
  fleet.rank(1).ended_well = true;
  fleet.rank(2).life = Life::kRunning;
  const Verdict verdict = analyze_failed(fleet.snapshot);
  CHECK(verdict.finding == Finding::kDied);
  CHECK(numbers(verdict.culprits) == Ranks{1});
  CHECK(verdict.signature.kind == OpKind::kAllReduce);
  CHECK(verdict.ordinal == 8);
  CHECK(numbers(verdict.victims) == Ranks{0});
  Fleet silent = fleet;  // its communicators are unknown
  silent.rank(1).comms.assign(1, {});  // a group that it never used
  CHECK(numbers(analyze_failed(silent.snapshot).culprits) == Ranks{1});
  CHECK(analyze_failed(silent.snapshot).signature.kind == OpKind::kAllReduce);
  fleet.rank(1).ended_well = false;
  CHECK(analyze_failed(fleet.snapshot).finding == Finding::kNothing);
}

TEST_CASE("without a majority no rank is named, and both sides are shown") {
  Fleet fleet = group_of(4);
  for (const std::uint32_t r : {0U, 3U}) fail_in(fleet, 1, r, all_reduce(64));
  fail_in(fleet, 1, 2, all_reduce(128));
  const Verdict verdict = analyze_failed(fleet.snapshot);
  CHECK(verdict.finding == Finding::kMismatch);
  CHECK(verdict.culprits.empty());
  CHECK(verdict.sentence.find("64") != std::string::npos);
  CHECK(verdict.sentence.find("128") != std::string::npos);
}

TEST_CASE("a rank that fails by itself outside a collective causes no mismatch") {
  Fleet fleet = group_of(4);
  fleet.group(2, {0, 1, 2, 3}, 6, "second");
  for (std::uint32_t r = 0; r < 4; ++r) fail_in(fleet, 2, r, all_reduce(32), 3);
  SUBCASE("before the others' last call") {
    for (const std::uint32_t r : {0U, 1U, 3U}) fail_in(fleet, 1, r, all_reduce(64));
  }
  SUBCASE("between calls") {}
  SUBCASE("killed, and seen long ago") {
    for (const std::uint32_t r : {0U, 1U, 3U}) {
      for (int i = 0; i < 20; ++i) fail_in(fleet, 1, r, all_reduce(64 + i), 2 - 0.1 * i);
    }
  }
  CHECK(analyze_failed(fleet.snapshot).finding == Finding::kNothing);
}

TEST_CASE("differing calls that finished long ago do not count") {
  Fleet fleet = group_of(4);
  for (std::uint32_t r = 0; r < 4; ++r) fail_in(fleet, 1, r, all_reduce(r == 2 ? 5 : 6), 400);
  for (std::uint32_t r = 0; r < 4; ++r) fail_in(fleet, 1, r, all_reduce(64));
  CHECK(analyze_failed(fleet.snapshot).finding == Finding::kNothing);
}

TEST_CASE("an empty fleet gives no finding") {
  CHECK(analyze_failed({}).finding == Finding::kNothing);
  CHECK(analyze_failed(Fleet(4).snapshot).finding == Finding::kNothing);
}

}  // namespace
}  // namespace robustrun::tracer::analysis_failed_test
