// Rules R3, R4, R5, R8b: all are inside the operation, or past it.
#include <doctest/doctest.h>

#include "tests/tracer/ring_simulator.h"

namespace robustrun::tracer::analysis_transport_test {
namespace {

using Ranks = std::vector<std::uint32_t>;

Fleet played(const Plan& plan, std::uint32_t per_node = 2) {
  RingSimulator simulator(plan);
  simulator.run();
  REQUIRE(!simulator.is_done());
  return simulator.fleet(per_node);
}

TEST_CASE("the simulator finishes what no fault stops, ring and tree") {
  for (const bool is_tree : {false, true}) {
    for (const std::uint32_t ranks : {2U, 3U, 5U, 8U, 16U}) {
      for (const Planted fault : {Planted::kNone, Planted::kLinkSlow}) {
        RingSimulator simulator({.ranks = ranks,
                                 .channels = 2,
                                 .is_tree = is_tree,
                                 .fault = fault,
                                 .rank = 0,
                                 .peer = 1});
        simulator.run();
        CHECK(simulator.is_done());
      }
    }
  }
}

TEST_CASE("a GPU that hangs inside the kernel is named, wherever it is and whenever") {
  for (const bool is_tree : {false, true}) {
    for (std::uint32_t rank = 0; rank < 8; ++rank) {
      for (const std::uint32_t after : {1U, 5U, 12U, 30U}) {
        const Verdict verdict = played({.ranks = 8,
                                        .channels = 2,
                                        .is_tree = is_tree,
                                        .fault = Planted::kGpuHang,
                                        .rank = rank,
                                        .after = after})
                                    .verdict();
        CAPTURE(is_tree);
        CAPTURE(rank);
        CAPTURE(after);
        CAPTURE(verdict.sentence);
        CHECK(verdict.finding == Finding::kGpuInKernel);
        CHECK(numbers(verdict.culprits) == Ranks{rank});
        CHECK(verdict.victims.size() == 7);
      }
    }
  }
}

TEST_CASE("with unlisted flows of a member, no rank is named in a tree; a ring is unaffected") {
  for (const bool is_tree : {false, true}) {
    Fleet fleet = played({.ranks = 8,
                          .channels = 2,
                          .is_tree = is_tree,
                          .fault = Planted::kGpuHang,
                          .rank = 3,
                          .after = 5});
    REQUIRE(numbers(fleet.verdict().culprits) == Ranks{3});
    for (Membership& member : fleet.rank(6).comms) {
      member.flows.clear();
      member.tells_flows = false;
    }
    const Ranks named = numbers(fleet.verdict().culprits);
    CHECK(named == (is_tree ? Ranks{} : Ranks{3}));
  }
}

TEST_CASE("on one channel of a tree the hanging rank and the root look alike: none is named") {
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    const Plan plan{.ranks = 8, .is_tree = true, .fault = Planted::kGpuHang, .rank = rank};
    const Verdict verdict = played(plan).verdict();
    CAPTURE(rank);
    CAPTURE(verdict.sentence);
    CHECK(verdict.finding == Finding::kUndecided);
  }
}

TEST_CASE("the sentence about a GPU gives the reason") {
  const Verdict verdict = played({.ranks = 4, .fault = Planted::kGpuHang, .rank = 2}).verdict();
  CHECK(verdict.confidence == Confidence::kExact);
  CHECK(verdict.sentence ==
        "the GPU of rank 2 (node1, local 0) hangs inside all_reduce #7 (48 MB, group world) for "
        "12.0 s: it has room to send and the data to do so, but sends nothing; 3 ranks wait for "
        "it");
}

TEST_CASE("a stuck link is named with both of its ends") {
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    const std::uint32_t peer = (rank + 1) % 8;
    const Verdict verdict =
        played({.ranks = 8, .fault = Planted::kLinkStuck, .rank = rank, .peer = peer}).verdict();
    CAPTURE(verdict.sentence);
    CHECK(verdict.finding == Finding::kLinkStuck);
    CHECK(verdict.confidence == Confidence::kExact);
    CHECK(verdict.edges == std::vector<Edge>{{{rank}, {peer}}});
    CHECK(verdict.culprits.empty());
    CHECK(verdict.victims.size() == 8);
  }
  for (const std::uint32_t rank : {1U, 2U, 5U}) {  // of a tree, upwards
    const Verdict verdict = played({.ranks = 8,
                                    .is_tree = true,
                                    .fault = Planted::kLinkStuck,
                                    .rank = rank,
                                    .peer = (rank - 1) / 2})
                                .verdict();
    CHECK(verdict.finding == Finding::kLinkStuck);
    CHECK(verdict.edges == std::vector<Edge>{{{rank}, {(rank - 1) / 2}}});
  }
}

TEST_CASE("a stuck proxy thread is named") {
  for (const bool is_tree : {false, true}) {
    for (std::uint32_t rank = 0; rank < 8; ++rank) {
      const Verdict verdict =
          played({.ranks = 8, .is_tree = is_tree, .fault = Planted::kProxyStuck, .rank = rank})
              .verdict();
      CAPTURE(is_tree);
      CAPTURE(rank);
      CAPTURE(verdict.sentence);
      CHECK(verdict.finding == Finding::kProxyStuck);
      CHECK(numbers(verdict.culprits) == Ranks{rank});
    }
  }
}

TEST_CASE("a proxy thread that moved a moment ago is not stuck") {
  Fleet fleet = played({.ranks = 4, .fault = Planted::kProxyStuck, .rank = 2});
  fleet.rank(2).proxy_still = seconds(0.1);
  CHECK(fleet.verdict().finding != Finding::kProxyStuck);
}

TEST_CASE("an interface that is down names its node, with the links that are stuck") {
  const Verdict verdict = played({.ranks = 8, .fault = Planted::kNicDown, .rank = 5}, 1).verdict();
  CHECK(verdict.finding == Finding::kLinkDown);
  CHECK(numbers(verdict.culprits) == Ranks{5});
  CHECK(verdict.nodes == std::vector<std::string>{"node5"});
  CHECK(verdict.sentence.starts_with("node5: mlx5_0/1: DOWN; all_reduce #7"));
}

TEST_CASE("stuck links of one rank name that rank if no interface is down") {
  Fleet fleet = played({.ranks = 8, .fault = Planted::kNicDown, .rank = 5}, 1);
  fleet.rank(5).evidence.network.clear();
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kLinkStuck);
  CHECK(numbers(verdict.culprits) == Ranks{5});
  CHECK(verdict.edges.size() == 2);
}

TEST_CASE("an interface that is down on every node is ignored") {
  Fleet fleet = played({.ranks = 8, .fault = Planted::kLinkStuck, .rank = 2, .peer = 3}, 1);
  for (std::uint32_t r = 0; r < 8; ++r) fleet.rank(r).evidence.network = {"eth1: no carrier"};
  CHECK(fleet.verdict().finding == Finding::kLinkStuck);
}

TEST_CASE("moving flows are not a hang, however long the operation takes") {
  Fleet fleet = played({.ranks = 4, .fault = Planted::kGpuHang, .rank = 2});
  fleet.in(1, 0).flows.front().unchanged = seconds(0.5);
  CHECK(fleet.verdict().finding == Finding::kUndecided);
}

TEST_CASE("contradictory flows are ignored") {
  Fleet fleet(4);
  fleet.world();
  fleet.enter_all_but(1, {});
  fleet.in(1, 2).flows.push_back({.ordinal = 7,
                                  .peer = 3,
                                  .is_send = true,
                                  .steps = 4,
                                  .posted = 2,
                                  .ready = 9,
                                  .transmitted = 1,
                                  .done = 3,
                                  .unchanged = seconds(9)});
  CHECK(fleet.verdict().finding == Finding::kUndecided);
}

TEST_CASE("if the hanging rank was not seen, it is at most suspected") {
  for (const Planted fault : {Planted::kGpuHang, Planted::kProxyStuck}) {
    for (std::uint32_t rank = 0; rank < 8; ++rank) {
      Fleet fleet = played({.ranks = 8, .fault = fault, .rank = rank});
      fleet.drop(rank);
      const Verdict verdict = fleet.verdict();
      CAPTURE(verdict.sentence);
      CHECK(verdict.confidence <= Confidence::kInferred);
      if (!verdict.culprits.empty()) CHECK(numbers(verdict.culprits) == Ranks{rank});
    }
  }
}

TEST_CASE("without flows, a single GPU with errors is suspected, two are not") {
  Fleet fleet(4);
  fleet.world();
  fleet.enter_all_but(1, {});
  fleet.rank(3).evidence.gpus = {
      {.name = "H100", .errors = {"Xid 79: fallen off the bus"}, .used_mib = {}}};
  Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kGpuInKernel);
  CHECK(verdict.confidence == Confidence::kInferred);
  CHECK(numbers(verdict.culprits) == Ranks{3});
  fleet.rank(1).evidence.gpus = fleet.rank(3).evidence.gpus;
  CHECK(fleet.verdict().finding == Finding::kUndecided);
}

TEST_CASE("a GPU that has not reached the operation is named, not the ranks that wait inside") {
  Fleet fleet(4);
  fleet.world();
  fleet.enter_all_but(1, {2});
  fleet.enter(1, 2, 9, all_reduce(), Operation::Stage::kQueued);
  fleet.rank(2).evidence.gpus = {{.name = "H100",
                                  .utilisation_percent = 100,
                                  .power_w = 90,
                                  .power_limit_w = 700,
                                  .errors = {},
                                  .used_mib = {}}};
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kGpuBeforeKernel);
  CHECK(numbers(verdict.culprits) == Ranks{2});
  CHECK(verdict.sentence ==
        "the GPU of rank 2 (node0, local 2) has not reached all_reduce #7 (48 MB, group world) "
        "for 10.0 s; 3 ranks wait for it");
  CHECK(verdict.evidence.front() == "rank 2: H100, 100 % busy at 90 W of 700 W");
}

TEST_CASE("a GPU blocked by an older operation of its own is a victim") {
  Fleet fleet(3);
  fleet.group(1, {0, 1});
  fleet.group(2, {1, 2});
  fleet.enter(1, 0);
  fleet.enter(2, 1, 12);
  fleet.enter(1, 1, 9, all_reduce(), Operation::Stage::kQueued);
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kNeverEntered);
  CHECK(numbers(verdict.culprits) == Ranks{2});
}

TEST_CASE("while all GPUs still compute, no rank is blocked") {
  Fleet fleet(4);
  fleet.world();
  for (std::uint32_t r = 0; r < 4; ++r) {
    fleet.enter(1, r, 9, all_reduce(), Operation::Stage::kQueued);
  }
  CHECK(fleet.verdict().finding == Finding::kNothing);
}

TEST_CASE("an absent rank that waits for its own GPU points to the GPU") {
  Fleet fleet(4);
  fleet.world();
  fleet.enter_all_but(1, {2});
  fleet.stack(2, {{"synchronize", "/v/lib/python3.11/site-packages/torch/cuda/__init__.py", 9},
                  {"main", "/home/me/train.py", 14}});
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kGpuBeforeKernel);
  CHECK(verdict.confidence == Confidence::kInferred);
  CHECK(numbers(verdict.culprits) == Ranks{2});
}

TEST_CASE("a rank still inside an operation that most have finished is left behind") {
  Fleet fleet(4);
  fleet.world();
  fleet.enter_all_but(1, {});
  for (const std::uint32_t r : {0U, 1U, 3U}) {
    fleet.finish(1, r);
    fleet.enter(1, r, 8);
  }
  Operation& operation = fleet.in(1, 2).pending.front();
  Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kLeftBehind);
  CHECK(verdict.confidence == Confidence::kInferred);
  CHECK(numbers(verdict.culprits) == Ranks{2});
  operation.channels = operation.channels_started = 2;
  verdict = fleet.verdict();
  CHECK(verdict.confidence == Confidence::kExact);
  CHECK(
      verdict.sentence ==
      "rank 2 (node0, local 2) is still inside all_reduce #7 (48 MB, group world) for 8.0 s: 3 of "
      "4 members have finished it; 3 ranks wait for it");
}

TEST_CASE("a rank that leaves a broadcast early accuses none of those still inside") {
  const Signature broadcast{OpKind::kBroadcast, DataType::kFloat32, 100, 0};
  Fleet fleet(4);
  fleet.world();
  fleet.enter_all_but(1, {}, 10, broadcast);
  fleet.finish(1, 0);
  fleet.enter(1, 0, 9);
  CHECK(fleet.verdict().finding == Finding::kUndecided);
  fleet.in(1, 3).pending.clear();  // but an absent rank is to blame
  fleet.in(1, 3).entered = 6;
  fleet.in(1, 3).recent.clear();
  CHECK(numbers(fleet.verdict().culprits) == Ranks{3});
}

TEST_CASE("point-to-point: a rank that has not sent is named with the missing ordinal") {
  Fleet fleet(4);
  fleet.group(1, {0, 1, 2, 3}, 0, "pp_0");
  fleet.point_to_point(1, 1, 0, false, 12, 11);  // the 12th from 0
  fleet.point_to_point(1, 2, 1, false, 12, 11);
  fleet.point_to_point(1, 1, 2, true, 11, 11);
  fleet.point_to_point(1, 0, 1, true, 11, 11);
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kNeverEntered);
  CHECK(numbers(verdict.culprits) == Ranks{0});
  CHECK(numbers(verdict.victims) == Ranks{1, 2});
  CHECK(verdict.sentence ==
        "rank 0 (node0, local 0) has not entered send #12 to rank 1 (4.0 kB, group pp_0) for "
        "10.0 s; 2 ranks wait for it");
}

TEST_CASE("point-to-point: a rank that has sent is not waited for") {
  Fleet fleet(2);
  fleet.group(1, {0, 1}, 0, "pp_0");
  fleet.point_to_point(1, 1, 0, false, 12, 11);
  fleet.point_to_point(1, 0, 1, true, 12, 11);
  CHECK(fleet.verdict().finding == Finding::kUndecided);
}

TEST_CASE("both send first: an inversion in one communicator") {
  Fleet fleet(2);
  fleet.group(1, {0, 1}, 0, "pp_0");
  fleet.point_to_point(1, 0, 1, true, 1, 0);
  fleet.point_to_point(1, 1, 0, true, 1, 0);
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kOrderInversion);
  CHECK(numbers(verdict.culprits) == Ranks{0, 1});
}

}  // namespace
}  // namespace robustrun::tracer::analysis_transport_test
