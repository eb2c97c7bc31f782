// Rules R7, R8, R11: slow ranks and links, and failures of whole nodes.
#include <doctest/doctest.h>

#include "tests/tracer/ring_simulator.h"

namespace robustrun::tracer::analysis_slow_test {
namespace {

using Ranks = std::vector<std::uint32_t>;

base::Nanos ms(double t) { return base::Nanos(static_cast<std::int64_t>(t * 1e6)); }

// Ten operations of the communicator in which `late` comes `lost` after the others.
void time(Fleet& fleet, std::uint64_t comm, std::uint32_t late, double lost,
          OpKind kind = OpKind::kAllReduce) {
  for (RankSnapshot& rank : fleet.snapshot.ranks) {
    for (Membership& m : rank.comms) {
      if (m.comm != comm) continue;
      for (std::uint64_t n = 1; n <= 10; ++n) {
        Signature signature = all_reduce();
        signature.kind = kind;
        m.recent.push_back({n, signature});
        const bool is_late = rank.rank.value == late;
        const double noise = 0.01 * static_cast<double>((n * 7 + rank.rank.value * 3) % 5);
        Timing timing;
        timing.ordinal = n;
        timing.kernel = ms(2 + noise + (is_late ? 0 : lost));
        timing.gap = ms(5 + (is_late ? lost : 0));
        m.timings.push_back(timing);
      }
    }
  }
}

TEST_CASE("the rank with the shortest operations is the slow one") {
  Fleet fleet(8);
  fleet.world(1, 10, "dp_0");
  time(fleet, 1, 5, 45);
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kSlowRank);
  CHECK(is_slowness(verdict.finding));
  CHECK(numbers(verdict.culprits) == Ranks{5});
  CHECK(verdict.victims.size() == 7);
  CHECK(verdict.sentence ==
        "rank 5 (node1, local 1) is slow: the others in group dp_0 wait 45 ms in each operation "
        "for it, because its host calls late");
  for (const std::string& line : verdict.evidence) {  // it is about no single operation
    CHECK(line.find("have entered") == std::string::npos);
  }
}

TEST_CASE("of two ranks the one that waits less is the slow one") {
  Fleet fleet(2);
  fleet.world(1, 10);
  time(fleet, 1, 1, 45);
  const Verdict verdict = fleet.verdict();
  CHECK(numbers(verdict.culprits) == Ranks{1});
  CHECK(verdict.confidence == Confidence::kInferred);
}

TEST_CASE("noise, operations that may be left early, and few operations are not slowness") {
  Fleet fleet(8);
  fleet.world(1, 10);
  time(fleet, 1, 99, 0);
  CHECK(fleet.verdict().finding == Finding::kNothing);

  Fleet rooted(8);
  rooted.world(1, 10);
  time(rooted, 1, 0, 45, OpKind::kBroadcast);
  CHECK(rooted.verdict().finding == Finding::kNothing);

  Fleet few(8);
  few.world(1, 10);
  time(few, 1, 5, 45);
  for (std::uint32_t r = 0; r < 8; ++r) few.in(1, r).timings.resize(4);
  CHECK(few.verdict().finding == Finding::kNothing);
}

TEST_CASE("peers of a slow rank that are late with it are its victims") {
  Fleet fleet(4);
  fleet.group(1, {0, 1}, 10, "tp_0");
  fleet.group(2, {2, 3}, 10, "tp_1");
  fleet.group(3, {0, 2}, 10, "dp_0");
  fleet.group(4, {1, 3}, 10, "dp_1");
  time(fleet, 1, 1, 45);  // 0 waits for 1, and so both are late in their data-parallel groups
  time(fleet, 2, 99, 0);
  time(fleet, 3, 0, 45);
  time(fleet, 4, 1, 45);
  CHECK(numbers(fleet.verdict().culprits) == Ranks{1});
}

TEST_CASE("a slow rank is reported only while nothing hangs") {
  Fleet fleet(8);
  fleet.world(1, 10);
  time(fleet, 1, 5, 45);
  fleet.enter_all_but(1, {2}, 0.01);
  Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kSlowRank);
  CHECK(verdict.runner_up.finding == Finding::kNeverEntered);
  for (const double age : {10.0, 0.0}) {  // 0: not known
    for (std::uint32_t r = 0; r < 8; ++r) {
      if (r != 2) fleet.in(1, r).pending.front().age = seconds(age);
    }
    verdict = fleet.verdict();
    CHECK(verdict.finding == Finding::kNeverEntered);
  }
  CHECK(numbers(verdict.culprits) == Ranks{2});
}

TEST_CASE("a slow link is named among links of its kind") {
  for (std::uint32_t rank = 0; rank < 8; ++rank) {
    RingSimulator simulator({.ranks = 8,
                             .rounds = 40,
                             .fault = Planted::kLinkSlow,
                             .rank = rank,
                             .peer = (rank + 1) % 8});
    simulator.run();
    REQUIRE(simulator.is_done());
    Fleet fleet = simulator.fleet(1);
    for (std::uint32_t r = 0; r < 8; ++r) fleet.finish(1, r);
    const Verdict verdict = fleet.verdict();
    CHECK(verdict.finding == Finding::kSlowLink);
    CHECK(verdict.edges == std::vector<Edge>{{{rank}, {(rank + 1) % 8}}});
    CHECK(verdict.culprits.empty());
  }
}

TEST_CASE("slow links that share a node are that node's; links of two kinds are not compared") {
  Fleet fleet(8, 2);
  fleet.world(1, 10);
  for (std::uint32_t r = 0; r < 8; ++r) {
    for (std::uint32_t p = 0; p < 8; ++p) {
      if (p == r) continue;
      const bool is_near = r / 2 == p / 2;
      const bool is_bad = !is_near && (r / 2 == 2 || p / 2 == 2);
      fleet.in(1, r).edges.push_back({.peer = static_cast<std::int32_t>(p),
                                      .bytes = 10'000'000,
                                      .net_wait = ms(is_near  ? 1
                                                     : is_bad ? 90
                                                              : 10)});
    }
  }
  Verdict verdict = fleet.verdict();
  // 16 of 24 links are slow, so that is the usual speed.
  CHECK(verdict.finding == Finding::kNothing);
  for (std::uint32_t r = 0; r < 8; ++r) {
    for (EdgeTime& edge : fleet.in(1, r).edges) {
      if (r / 2 != 2 && edge.peer / 2 == 2) edge.net_wait = ms(10);  // outwards only
    }
  }
  verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kSlowLink);
  CHECK(verdict.nodes == std::vector<std::string>{"node2"});
  CHECK(verdict.edges.size() == 12);
}

TEST_CASE("links with little traffic, and few links, are not judged") {
  Fleet fleet(8, 1);
  fleet.world(1, 10);
  for (std::uint32_t r = 0; r < 8; ++r) {
    fleet.in(1, r).edges.push_back({.peer = static_cast<std::int32_t>((r + 1) % 8),
                                    .bytes = 1000,
                                    .net_wait = ms(r == 3 ? 90 : 1)});
  }
  CHECK(fleet.verdict().finding == Finding::kNothing);
}

TEST_CASE("most ranks of a node at once are the node's failure") {
  Fleet fleet(16, 4);
  fleet.world();
  fleet.enter_all_but(1, {4, 5, 6});
  Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kGroupFailure);
  CHECK(verdict.nodes == std::vector<std::string>{"node1"});
  CHECK(numbers(verdict.culprits) == Ranks{4, 5, 6});
  CHECK(verdict.runner_up.finding == Finding::kNeverEntered);
  CHECK(verdict.sentence.starts_with(
      "3 of the 4 ranks of node1 are at fault together: ranks 4, 5 and 6 (node1) have not"));
}

TEST_CASE("half of a node, scattered ranks, most nodes and a lone rank are not a node's failure") {
  for (const Ranks& absent : {Ranks{4, 5}, Ranks{4, 5, 6, 12}, Ranks{0, 1, 2, 4, 5, 6, 8, 9, 10}}) {
    Fleet fleet(16, 4);
    fleet.world();
    fleet.enter_all_but(1, absent);
    CHECK(fleet.verdict().finding == Finding::kNeverEntered);
    CHECK(numbers(fleet.verdict().culprits) == absent);
  }
  Fleet fleet(4, 1);
  fleet.world();
  fleet.enter_all_but(1, {2});
  CHECK(fleet.verdict().finding == Finding::kNeverEntered);
}

}  // namespace
}  // namespace robustrun::tracer::analysis_slow_test
