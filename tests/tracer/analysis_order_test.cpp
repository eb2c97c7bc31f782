// Rules R6 and R6b: different operations under the same ordinal, and contradictory orders.
#include <doctest/doctest.h>

#include "tests/tracer/fleet.h"

namespace robustrun::tracer::analysis_order_test {
namespace {

using Ranks = std::vector<std::uint32_t>;

Signature broadcast(std::uint64_t count, std::int32_t root) {
  return {.kind = OpKind::kBroadcast, .type = DataType::kFloat32, .count = count, .root = root};
}

std::vector<Frame> waiting_stack() {
  return {{"wait", "/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py", 500},
          {"main", "/home/me/train.py", 10}};
}

TEST_CASE("of four ranks the one with a different size is named, with both signatures") {
  Fleet fleet(4);
  fleet.world();
  for (const std::uint32_t r : {0U, 1U, 3U}) fleet.enter(1, r, 10, all_reduce(100));
  fleet.enter(1, 2, 9, all_reduce(50));
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kMismatch);
  CHECK(verdict.confidence == Confidence::kMajority);
  CHECK(numbers(verdict.culprits) == Ranks{2});
  CHECK(numbers(verdict.victims) == Ranks{0, 1, 3});
  CHECK(verdict.sentence ==
        "rank 2 (node0, local 2) calls all_reduce of 50 float32 as operation #7 (group world), but "
        "ranks 0, 1 and 3 (node0) call all_reduce of 100 float32; no progress for 10.0 s");
}

TEST_CASE("types, kinds and roots must agree, too") {
  for (const Signature& other :
       {Signature{OpKind::kAllReduce, DataType::kFloat64, 100, -1}, broadcast(100, 0)}) {
    Fleet fleet(4);
    fleet.world();
    for (const std::uint32_t r : {0U, 1U, 3U}) fleet.enter(1, r, 10, all_reduce(100));
    fleet.enter(1, 2, 9, other);
    CHECK(fleet.verdict().finding == Finding::kMismatch);
    CHECK(numbers(fleet.verdict().culprits) == Ranks{2});
  }
  Fleet fleet(4);
  fleet.world();
  for (const std::uint32_t r : {0U, 1U, 3U}) fleet.enter(1, r, 10, broadcast(4, 0));
  fleet.enter(1, 2, 9, broadcast(4, 1));
  CHECK(numbers(fleet.verdict().culprits) == Ranks{2});
}

TEST_CASE("of two ranks that disagree both are named") {
  Fleet fleet(2);
  fleet.world();
  fleet.enter(1, 0, 10, all_reduce(100));
  fleet.enter(1, 1, 10, all_reduce(50));
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kMismatch);
  CHECK(numbers(verdict.culprits) == Ranks{0, 1});
  CHECK(verdict.confidence == Confidence::kInferred);
}

TEST_CASE("a skipped operation is found where the sequences first differ") {
  Fleet fleet(4);
  fleet.world();
  for (const std::uint32_t r : {0U, 1U, 3U}) {
    fleet.enter(1, r, 10, all_reduce(100));
    fleet.in(1, r).recent.insert(fleet.in(1, r).recent.begin(), {6, broadcast(4, 0)});
  }
  fleet.enter(1, 2, 10, broadcast(4, 0));
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.ordinal == 7);
  CHECK(numbers(verdict.culprits) == Ranks{2});
}

TEST_CASE("without a majority of all members no rank is accused") {
  Fleet fleet(5);
  fleet.world();
  fleet.enter(1, 0, 10, all_reduce(100));
  fleet.enter(1, 1, 10, all_reduce(50));
  fleet.enter(1, 2, 10, all_reduce(50));
  fleet.drop(3);
  fleet.drop(4);
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kMismatch);
  CHECK(verdict.culprits.empty());
  CHECK(verdict.confidence == Confidence::kInferred);
}

TEST_CASE("sizes that may differ, unknown parts, and finished calls are not a mismatch") {
  Signature to_all{OpKind::kAllToAll, DataType::kFloat32, 10, -1};
  Signature unknown{OpKind::kAllReduce, DataType::kUnknown, 0, -1};
  Signature barrier{OpKind::kBarrier, DataType::kUint8, 1, -1};
  struct Row {
    Signature most, one;
  };
  Signature wider = to_all;
  wider.count = 20;
  Signature longer = barrier;
  longer.count = 2;
  for (const Row& row : {Row{to_all, wider}, Row{all_reduce(5), unknown}, Row{barrier, longer}}) {
    Fleet fleet(4);
    fleet.world();
    for (const std::uint32_t r : {0U, 1U}) fleet.enter(1, r, 10, row.most);
    fleet.enter(1, 2, 10, row.one);
    const Verdict verdict = fleet.verdict();
    CHECK(verdict.finding == Finding::kNeverEntered);
    CHECK(numbers(verdict.culprits) == Ranks{3});
  }
  Fleet fleet(4);
  fleet.world();
  for (std::uint32_t r = 0; r < 4; ++r) {
    fleet.in(1, r).recent.push_back({6, all_reduce(r == 1 ? 7 : 8)});  // finished by all
  }
  fleet.enter_all_but(1, {3});
  CHECK(fleet.verdict().finding == Finding::kNeverEntered);
}

TEST_CASE("two groups in opposite order: both ranks and both operations") {
  Fleet fleet(4);
  fleet.group(1, {1, 2}, 3, "a");
  fleet.group(2, {1, 2}, 8, "b");
  fleet.group(3, {0, 1, 2, 3}, 5, "world");
  fleet.enter(1, 1, 12);
  fleet.enter(2, 2, 12, broadcast(4, 0));
  fleet.enter(3, 0, 11);
  fleet.enter(3, 3, 11);
  for (const std::uint32_t r : {1U, 2U}) fleet.stack(r, waiting_stack());
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kOrderInversion);
  CHECK(verdict.confidence == Confidence::kExact);
  CHECK(numbers(verdict.culprits) == Ranks{1, 2});
  CHECK(numbers(verdict.victims) == Ranks{0, 3});
  CHECK(verdict.sentence ==
        "rank 1 (node0, local 1) is in all_reduce #4 (48 MB, group a), rank 2 (node0, local 2) is "
        "in broadcast #9 (16 B, group b) for 12.0 s: they wait for each other, because they call "
        "the operations in different orders or one has left one out; 2 ranks wait for them");
}

TEST_CASE("one of many that inverted the order is named by majority") {
  Fleet fleet(6);
  fleet.group(1, {0, 1, 2, 3, 4, 5}, 3, "a");
  fleet.group(2, {0, 1, 2, 3, 4, 5}, 8, "b");
  fleet.enter_all_but(1, {4}, 12);
  fleet.enter(2, 4, 12);
  for (std::uint32_t r = 0; r < 6; ++r) fleet.stack(r, waiting_stack());
  Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kOrderInversion);
  CHECK(verdict.confidence == Confidence::kMajority);
  CHECK(numbers(verdict.culprits) == Ranks{4});
  for (std::uint32_t r = 0; r < 6; ++r) fleet.rank(r).evidence = {};
  verdict = fleet.verdict();
  CHECK(verdict.confidence == Confidence::kInferred);
}

TEST_CASE("a cycle with a rank in its data loader is an input stall of that rank") {
  Fleet fleet(2);
  fleet.group(1, {0, 1}, 3, "a");
  fleet.group(2, {0, 1}, 8, "b");
  fleet.enter(1, 0, 12);  // asynchronous: its thread has continued
  fleet.enter(2, 1, 12);
  fleet.stack(0, loader_stack());
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kInputStall);
  CHECK(numbers(verdict.culprits) == Ranks{0});
}

TEST_CASE("a cycle with an exit is not an inversion") {
  Fleet fleet(3);
  fleet.group(1, {0, 1}, 3, "a");
  fleet.group(2, {0, 1, 2}, 8, "b");
  fleet.enter(1, 0, 12);
  fleet.enter(2, 1, 12);  // waits for 0 and for 2, which is inside no operation
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kNeverEntered);
  CHECK(numbers(verdict.culprits) == Ranks{2});
}

TEST_CASE("kernels queued against each other are an inversion without any stack") {
  Fleet fleet(2);
  fleet.group(1, {0, 1}, 3, "a");
  fleet.group(2, {0, 1}, 8, "b");
  fleet.enter(1, 0, 12);
  fleet.enter(2, 0, 12, all_reduce(), Operation::Stage::kQueued);
  fleet.enter(2, 1, 12);
  fleet.enter(1, 1, 12, all_reduce(), Operation::Stage::kQueued);
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kOrderInversion);
  CHECK(verdict.confidence == Confidence::kExact);
}

}  // namespace
}  // namespace robustrun::tracer::analysis_order_test
