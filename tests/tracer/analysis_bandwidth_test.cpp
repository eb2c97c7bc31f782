// Rules R7b, R8 and R8c, and R6 by tags: what has become slower than it was, and where.
#include <doctest/doctest.h>

#include "tests/tracer/fleet.h"

namespace robustrun::tracer::analysis_bandwidth_test {
namespace {

using base::Nanos;
using Ranks = std::vector<std::uint32_t>;

// Every rank sends to both neighbours of a ring; `change`: how many times as long as before a byte
// is on its way.
template <class Change>
Fleet ring(std::uint32_t size, std::uint32_t per_node, const Change& change) {
  Fleet fleet(size, per_node);
  fleet.world(1, 100);
  for (std::uint32_t r = 0; r < size; ++r) {
    for (const std::uint32_t peer : {(r + 1) % size, (r + size - 1) % size}) {
      EdgeTime edge;
      edge.peer = static_cast<std::int32_t>(peer);
      edge.bytes = 1'000'000'000;  // all the time before hides the change
      edge.net_wait = std::chrono::milliseconds(500);
      edge.recent_bytes = 10'000'000;
      edge.usual = 0.5;
      const double noise = 1 + 0.1 * static_cast<double>((r * 7 + peer * 3) % 5) / 4;
      edge.recent_wait =
          Nanos(static_cast<std::int64_t>(0.5 * 10'000'000 * noise * change(r, peer)));
      fleet.in(1, r).edges.push_back(edge);
    }
  }
  return fleet;
}

}  // namespace

TEST_CASE("a rank whose links have become half as fast is named, whatever the size of the ring") {
  for (const std::uint32_t size : {4U, 8U, 16U}) {
    for (std::uint32_t slow = 0; slow < size; ++slow) {
      const Fleet fleet = ring(size, 1, [slow](std::uint32_t r, std::uint32_t peer) {
        return r == slow || peer == slow ? 2.0 : 1.0;
      });
      const Verdict verdict = fleet.verdict();
      CHECK(verdict.finding == Finding::kSlowLink);
      CHECK(numbers(verdict.culprits) == Ranks{slow});
      CHECK(verdict.edges.size() == 4);
      CHECK(verdict.sentence.find("before") != std::string::npos);
    }
  }
}

TEST_CASE("one slow link is named with both ends, because either may be to blame") {
  const Fleet fleet =
      ring(8, 1, [](std::uint32_t r, std::uint32_t peer) { return r == 2 && peer == 3 ? 2 : 1; });
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kSlowLink);
  CHECK(verdict.edges == std::vector<Edge>{{{2}, {3}}});
  CHECK(verdict.culprits.empty());
  CHECK(verdict.nodes == std::vector<std::string>{"node2", "node3"});
}

TEST_CASE("noise, and what slows down all links alike, blames no link") {
  for (const double all : {0.5, 1.0, 3.0}) {
    const Fleet fleet = ring(8, 1, [all](std::uint32_t, std::uint32_t) { return all; });
    CHECK(fleet.verdict().finding == Finding::kNothing);
  }
  // Faster than before, but for one that stayed as it was.
  const Fleet faster = ring(8, 1, [](std::uint32_t r, std::uint32_t) { return r == 2 ? 1 : 0.6; });
  CHECK(faster.verdict().finding == Finding::kNothing);
}

namespace {

// Tensor-parallel groups of four, and data-parallel groups across them; `change` by group's key.
template <class Change>
Fleet grid(const Change& change) {
  Fleet fleet(16, 4);
  for (std::uint32_t g = 0; g < 4; ++g) {
    fleet.group(10 + g, {4 * g, 4 * g + 1, 4 * g + 2, 4 * g + 3}, 100, "tp");
    fleet.group(20 + g, {g, 4 + g, 8 + g, 12 + g}, 100, "dp");
  }
  for (RankSnapshot& rank : fleet.snapshot.ranks) {
    for (Membership& m : rank.comms) {
      Rate rate;
      rate.kind = OpKind::kAllReduce;
      rate.size_bits = 24;
      rate.count = 50;
      rate.bytes = 500'000'000;
      rate.usual = 0.01;
      // Members that come early wait, and so take longer.
      const double wait = m.rank == 1 ? 1.0 : 1.3 + 0.1 * static_cast<double>(m.rank);
      rate.busy = Nanos(static_cast<std::int64_t>(5'000'000 * wait * change(m.comm)));
      m.rates.push_back(rate);
    }
  }
  return fleet;
}

}  // namespace

TEST_CASE("a rank that several groups share, which all became slower, is named") {
  const Fleet fleet = grid([](std::uint64_t comm) { return comm == 11 || comm == 22 ? 2.0 : 1.0; });
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kSlowLink);
  CHECK(numbers(verdict.culprits) == Ranks{6});
  CHECK(verdict.nodes == std::vector<std::string>{"node1"});
}

TEST_CASE("of one slow group the node is named if it has only one") {
  Verdict verdict = grid([](std::uint64_t comm) { return comm == 11 ? 2.0 : 1.0; }).verdict();
  CHECK(verdict.finding == Finding::kSlowLink);
  CHECK(verdict.culprits.empty());
  CHECK(verdict.nodes == std::vector<std::string>{"node1"});
  CHECK(verdict.group == "tp");
  verdict = grid([](std::uint64_t comm) { return comm == 22 ? 2.0 : 1.0; }).verdict();
  CHECK(verdict.finding == Finding::kSlowLink);
  CHECK(verdict.nodes.empty());
  CHECK(verdict.sentence.find("is not known") != std::string::npos);
}

TEST_CASE("waiting for a late rank, and what slows down most groups, is no slow group") {
  CHECK(grid([](std::uint64_t) { return 1.0; }).verdict().finding == Finding::kNothing);
  CHECK(grid([](std::uint64_t) { return 2.0; }).verdict().finding == Finding::kNothing);
  CHECK(grid([](std::uint64_t comm) { return comm < 20 ? 2.0 : 1.4; }).verdict().finding ==
        Finding::kNothing);
  Fleet late = grid([](std::uint64_t) { return 1.0; });
  for (std::uint32_t r = 4; r < 8; ++r) {  // all but the member that waits least
    Rate& rate = late.in(11, r).rates.front();
    if (late.in(11, r).rank != 1) rate.busy *= 5;
  }
  CHECK(late.verdict().finding == Finding::kNothing);
}

TEST_CASE("a GPU that works longer between the barriers of a kernel is named") {
  Fleet fleet(8);
  fleet.world(1, 10, "tp");
  const auto time = [&fleet](double slow_ms) {
    for (std::uint32_t r = 0; r < 8; ++r) {
      fleet.in(1, r).timings.clear();
      for (std::uint64_t n = 1; n <= 10; ++n) {
        Timing timing;
        timing.ordinal = n;
        timing.kernel = std::chrono::milliseconds(3);  // all wait for the slowest
        const double own = r == 5 ? slow_ms : 1 + 0.01 * static_cast<double>((n + r) % 4);
        timing.own = Nanos(static_cast<std::int64_t>(own * 1e6));
        fleet.in(1, r).timings.push_back(timing);
      }
    }
  };
  time(2.1);
  const Verdict verdict = fleet.verdict();
  CHECK(verdict.finding == Finding::kSlowRank);
  CHECK(numbers(verdict.culprits) == Ranks{5});
  CHECK(verdict.sentence.find("its GPU works for 2.1 ms, the others for 1.0 ms") !=
        std::string::npos);
  time(1.2);
  CHECK(fleet.verdict().finding == Finding::kNothing);
}

TEST_CASE("a call that one rank left out is found by its tags") {
  const auto play = [](std::uint64_t left_out, bool has_own_tags) {
    Fleet fleet(4);
    fleet.world(1, 0, "dp");
    for (std::uint32_t r = 0; r < 4; ++r) {
      Membership& m = fleet.in(1, r);
      for (std::uint64_t n = 1; n <= 20; ++n) {
        const std::uint64_t call = r == 2 && n >= left_out ? n + 1 : n;
        m.recent.push_back({n, all_reduce(), {}, has_own_tags ? 1000 * r + n : 100 + call % 5});
      }
      m.entered = m.started = m.done = 20;
    }
    fleet.enter_all_but(1, {2});
    return fleet.verdict();
  };
  const Verdict verdict = play(12, false);
  CHECK(verdict.finding == Finding::kMismatch);
  CHECK(numbers(verdict.culprits) == Ranks{2});
  CHECK(verdict.sentence.find("with tag 103 as operation #12") != std::string::npos);
  CHECK(play(100, false).finding == Finding::kNeverEntered);
  CHECK(play(12, true).finding == Finding::kNeverEntered);  // tags that mean something else
}

}  // namespace robustrun::tracer::analysis_bandwidth_test
