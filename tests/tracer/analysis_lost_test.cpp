// Rules R1, R1b: dead and frozen ranks.
#include <doctest/doctest.h>

#include <algorithm>

#include "tests/tracer/fleet.h"

namespace robustrun::tracer::analysis_lost_test {
namespace {

using Ranks = std::vector<std::uint32_t>;

TEST_CASE("a killed rank is named with the operation that it died in") {
  Fleet fleet(8, 4);
  fleet.world();
  fleet.enter_all_but(1, {});
  fleet.rank(5).life = Life::kDead;
  fleet.rank(5).end = "killed by SIGKILL";
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kDied);
  CHECK(verdict.confidence == Confidence::kExact);
  CHECK(verdict.sentence ==
        "rank 5 (node1, local 1) was killed by SIGKILL in all_reduce #7 (48 MB, group world); "
        "7 ranks wait for it");
}

TEST_CASE("a rank that ended before the operation is named with that operation") {
  Fleet fleet(4);
  fleet.world();
  fleet.enter_all_but(1, {3});
  fleet.rank(3).life = Life::kDead;
  fleet.rank(3).end = "exit code 0";
  CHECK(fleet.verdict().sentence ==
        "rank 3 (node0, local 3) has ended (exit code 0) before all_reduce #7 (48 MB, group "
        "world); 3 ranks wait for it");
}

TEST_CASE("a dead rank without any record is the culprit as soon as a rank waits") {
  Fleet fleet(3);
  fleet.group(1, {0, 1}, 6);
  for (const std::uint32_t r : {0U, 1U}) fleet.in(1, r).size = 3;
  fleet.rank(2).life = Life::kDead;
  CHECK(fleet.verdict().finding == Finding::kNothing);
  fleet.enter_all_but(1, {});
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kDied);
  CHECK(verdict.confidence == Confidence::kInferred);
  CHECK(numbers(verdict.culprits) == Ranks{2});
  CHECK(numbers(verdict.victims) == Ranks{0, 1});
}

TEST_CASE("a rank whose node is lost, and beside it one that was killed") {
  Fleet fleet(8, 2);
  fleet.world();
  fleet.enter_all_but(1, {});
  fleet.rank(5).life = Life::kDead;
  fleet.rank(5).end = "its node is lost";
  CHECK(fleet.verdict().sentence ==
        "rank 5 (node2, local 1) died in all_reduce #7 (48 MB, group world): its node is lost; "
        "7 ranks wait for it");
  fleet.rank(2).life = Life::kDead;
  fleet.rank(2).end = "killed by SIGKILL";
  CHECK(fleet.verdict().sentence ==
        "ranks 2 and 5 (node1, node2) have ended in all_reduce #7 (48 MB, group world); "
        "6 ranks wait for them");
}

TEST_CASE("a dead rank with another record may be the one that a communicator lacks") {
  for (const Life life : {Life::kDead, Life::kStopped}) {
    Fleet fleet(3);
    fleet.group(1, {0, 1});
    for (const std::uint32_t r : {0U, 1U}) fleet.in(1, r).size = 3;
    fleet.group(2, {2});
    fleet.enter_all_but(1, {});
    fleet.rank(2).life = life;
    Verdict verdict = fleet.verdict();
    CHECK(numbers(verdict.culprits) == Ranks{2});
    // It is the only rank that the operation lacks, and was seen to be stopped.
    const bool is_seen = life == Life::kStopped;
    CHECK(verdict.confidence == (is_seen ? Confidence::kExact : Confidence::kInferred));
    CHECK(numbers(verdict.victims) == Ranks{0, 1});
    for (const std::uint32_t r : {0U, 1U}) fleet.in(1, r).size = 2;  // no member is missing
    CHECK(fleet.verdict().finding == Finding::kUndecided);
  }
}

TEST_CASE("a dead rank of another group is not blamed for an absent one") {
  Fleet fleet(4);
  fleet.group(1, {0, 1});
  fleet.group(2, {2, 3});
  fleet.enter(1, 0);
  fleet.rank(3).life = Life::kDead;
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kNeverEntered);
  CHECK(numbers(verdict.culprits) == Ranks{1});
}

TEST_CASE("a rank that ended after doing its part is not blamed for an absent one") {
  Signature gather = all_reduce();
  gather.kind = OpKind::kGather;
  gather.root = 0;
  for (const Life life : {Life::kDead, Life::kStopped}) {
    Fleet fleet(4);
    fleet.world();
    fleet.enter_all_but(1, {3}, 10, gather);
    for (const std::uint32_t r : {1U, 2U}) fleet.finish(1, r);
    fleet.rank(1).life = life;
    const Verdict verdict = fleet.verdict();
    CHECK(verdict.finding == Finding::kNeverEntered);
    CHECK(numbers(verdict.culprits) == Ranks{3});
    CHECK(numbers(verdict.victims) == Ranks{0});
    // No other rank is missing: its last data may be lost.
    fleet.enter(1, 3, 10, gather);
    CHECK(numbers(fleet.verdict().culprits) == Ranks{1});
    // Others wait for it in the next operation.
    fleet.finish(1, 3);
    fleet.finish(1, 0);
    fleet.enter(1, 2);
    CHECK(std::ranges::count(numbers(fleet.verdict().culprits), 1U) == 1);
  }
}

TEST_CASE("a stopped rank is named by life, by state and by its cgroup") {
  for (const int how : {0, 1, 2, 3}) {
    Fleet fleet(4);
    fleet.world();
    fleet.enter_all_but(1, {2});
    RankSnapshot& rank = fleet.rank(2);
    if (how == 0) rank.life = Life::kStopped;
    rank.evidence.has_process = how > 0;
    if (how == 1) rank.evidence.process.state = "T";
    if (how == 2) rank.evidence.process.frozen = true;
    if (how == 3) rank.evidence.process.state = "t";
    const Verdict verdict = fleet.verdict();
    CAPTURE(how);
    CHECK(verdict.finding == Finding::kStopped);
    CHECK(numbers(verdict.culprits) == Ranks{2});
    CHECK(!verdict.is_moving);
    if (how == 1) {
      CHECK(verdict.sentence ==
            "rank 2 (node0, local 2) is stopped (state T); others are in all_reduce #7 (48 MB, "
            "group world) for 10.0 s; 3 ranks wait for it");
    }
  }
}

TEST_CASE("a stopped rank whose progress cannot be read is named by its membership") {
  Fleet fleet(4);
  fleet.world();
  fleet.enter_all_but(1, {2});
  fleet.rank(2).life = Life::kStopped;
  fleet.in(1, 2).counts_completion = false;
  fleet.in(1, 2).entered = fleet.in(1, 2).done = 0;
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kStopped);
  CHECK(verdict.confidence == Confidence::kExact);
  CHECK(numbers(verdict.culprits) == Ranks{2});
  CHECK(verdict.ordinal == 7);
}

TEST_CASE(
    "a sleeping process is not stopped, and a stopped rank that no rank misses is not named") {
  Fleet fleet(4);
  fleet.world();
  fleet.enter_all_but(1, {2});
  fleet.rank(2).evidence.has_process = true;
  fleet.rank(2).evidence.process.state = "S";
  CHECK(fleet.verdict().finding == Finding::kNeverEntered);
  Fleet other(4);
  other.group(1, {0, 1});
  other.group(2, {2, 3});
  other.enter(1, 0);
  other.rank(3).life = Life::kStopped;
  CHECK(numbers(other.verdict().culprits) == Ranks{1});
}

}  // namespace
}  // namespace robustrun::tracer::analysis_lost_test
