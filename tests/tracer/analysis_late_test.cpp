// R7 by arrivals: who comes last again and again, whatever the clocks say.
#include <doctest/doctest.h>

#include "base/core/clock.h"
#include "tests/tracer/fleet.h"

namespace robustrun::tracer::analysis_late_test {
namespace {

constexpr std::uint32_t kWorld = 6;
constexpr double kEpoch = 1.7e9;

// Steps of two collectives, of two communicators with the same members: everybody meets in the
// first one after some work, and goes straight on to the second.
struct Steps {
  Fleet fleet{kWorld, 1};  // every rank on a machine of its own
  std::vector<double> clock = std::vector<double>(kWorld, 0);   // how wrong each one is
  base::Rng rng{1};
  double noise = 0.002;
  double now = kEpoch;

  Steps() {
    fleet.world(1);
    fleet.world(2);
  }
  void arrive(std::uint64_t comm, std::uint32_t r, std::uint64_t ordinal, double at) {
    fleet.in(comm, r).recent.push_back({ordinal, all_reduce(), seconds(at + clock[r])});
  }
  double jitter() { return noise * static_cast<double>(rng.next() % 1000) / 1000; }
  // `late`: by how much each rank is late for the first one.
  void step(std::uint64_t ordinal, const std::vector<double>& late) {
    double met = now;
    for (std::uint32_t r = 0; r < kWorld; ++r) {
      const double at = now + 0.1 + late[r] + jitter();
      arrive(1, r, ordinal, at);
      met = std::max(met, at);
    }
    for (std::uint32_t r = 0; r < kWorld; ++r) arrive(2, r, ordinal, met + jitter());
    now = met;
  }
  Verdict run(std::uint32_t slow, double by, std::uint64_t count = 40) {
    for (std::uint64_t n = 1; n <= count; ++n) {
      std::vector<double> late(kWorld, 0);
      if (slow < kWorld) late[slow] = by;
      step(n, late);
    }
    return analyze(fleet.snapshot);
  }
};

constexpr std::uint32_t kNobody = kWorld;

TEST_CASE("a rank that is late for one collective of every step is named") {
  for (std::uint32_t slow = 0; slow < kWorld; ++slow) {
    Steps steps;
    const Verdict verdict = steps.run(slow, 0.2);
    CHECK(verdict.finding == Finding::kSlowRank);
    CHECK(verdict.culprits == std::vector<base::Rank>{{slow}});
    CHECK(verdict.victims.size() == kWorld - 1);
    CHECK(verdict.sentence.find("comes last, 20") != std::string::npos);
    CHECK(verdict.sentence.find("to 40 of 80 collectives") != std::string::npos);
  }
}

TEST_CASE("clocks that are wrong change nothing") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    base::Rng rng(seed);
    Steps steps;
    for (double& wrong : steps.clock) wrong = static_cast<double>(rng.next() % 20000) / 1000 - 10;
    CHECK(Steps(steps).run(kNobody, 0).finding == Finding::kNothing);
    CHECK(steps.run(3, 0.2).culprits == std::vector<base::Rank>{{3}});
  }
}

TEST_CASE("nobody is late by the noise of a busy machine, nor when all take turns") {
  Steps noisy;
  noisy.noise = 0.2;
  CHECK(noisy.run(kNobody, 0, 100).finding == Finding::kNothing);
  Steps turns;
  for (std::uint64_t n = 1; n <= 60; ++n) {
    std::vector<double> late(kWorld, 0);
    late[n % kWorld] = 0.3;
    turns.step(n, late);
  }
  CHECK(analyze(turns.fleet.snapshot).finding == Finding::kNothing);
}

TEST_CASE("a few late ones, or little time lost, are not worth saying") {
  CHECK(Steps().run(2, 0.2, 4).finding == Finding::kNothing);
  CHECK(Steps().run(2, 0.009).finding == Finding::kNothing);
  Steps rare;
  for (std::uint64_t n = 1; n <= 200; ++n) {
    std::vector<double> late(kWorld, 0);
    if (n % 33 == 0) late[2] = 0.2;   // a checkpoint now and then
    rare.step(n, late);
  }
  CHECK(analyze(rare.fleet.snapshot).finding == Finding::kNothing);
}

TEST_CASE("long pauses of one rank are none of a slow one, however much time they take") {
  Steps pauses;
  for (std::uint64_t n = 1; n <= 200; ++n) {
    std::vector<double> late(kWorld, 0);
    if (n % 20 == 0) late[0] = 3;  // it evaluates
    pauses.step(n, late);
  }
  CHECK(analyze(pauses.fleet.snapshot).finding == Finding::kNothing);
}

TEST_CASE("with a member that is not seen nobody is named") {
  Steps steps;
  steps.run(2, 0.2);
  steps.fleet.snapshot.ranks.erase(steps.fleet.snapshot.ranks.begin());
  CHECK(analyze(steps.fleet.snapshot).finding == Finding::kNothing);
}

TEST_CASE("times that no clock shows name nobody, and a node without name is none") {
  for (const std::int64_t far : {std::int64_t{1} << 60U, std::int64_t{INT64_MAX}}) {
    Steps steps;
    steps.run(kNobody, 0);
    for (std::uint64_t n = 0; n < 80; n += 2) {
      for (Membership& m : steps.fleet.rank(3).comms) {
        if (n < m.recent.size()) m.recent[n].entered_at = base::Nanos(far);
      }
    }
    CHECK(analyze(steps.fleet.snapshot).finding == Finding::kNothing);
  }
  Steps nameless;
  for (RankSnapshot& rank : nameless.fleet.snapshot.ranks) rank.node.clear();
  CHECK(nameless.run(2, 0.2).nodes.empty());
}

// One collective in a step, as a small DDP model has it: who is late is late for every one.
Verdict always_late(std::uint32_t world, std::uint32_t per_node, std::uint32_t slow, double step,
                    double by, const std::vector<double>& clock_of_node = {}) {
  Fleet fleet(world, per_node);
  fleet.world();
  base::Rng rng(7);
  double now = kEpoch;
  for (std::uint64_t n = 1; n <= 60; ++n) {
    double met = now;
    for (std::uint32_t r = 0; r < world; ++r) {
      const double noise = static_cast<double>(rng.next() % 100) / 1e6;
      const double at = now + step + (r == slow ? by : 0) + noise;
      const double wrong = clock_of_node.empty() ? 0 : clock_of_node[r / per_node];
      fleet.in(1, r).recent.push_back({n, all_reduce(), seconds(at + wrong)});
      met = std::max(met, at);
    }
    now = met;
  }
  return analyze(fleet.snapshot);
}

TEST_CASE("ranks of one machine tell on the one that is late every time, from the first step on") {
  for (const std::uint32_t world : {2U, 3U, 4U, 8U}) {
    for (const double factor : {1.5, 2.0, 3.0}) {
      CAPTURE(world);
      CAPTURE(factor);
      const Verdict verdict = always_late(world, 8, 1, 0.1, 0.1 * (factor - 1));
      CHECK(verdict.finding == Finding::kSlowRank);
      CHECK(verdict.culprits == std::vector<base::Rank>{{1}});
      CHECK(verdict.lost_share == doctest::Approx(1 - 1 / factor).epsilon(0.05));
      CHECK(always_late(world, 8, kNobody + 9, 0.1, 0).finding == Finding::kNothing);
    }
  }
  // Of short steps less is worth saying.
  CHECK(always_late(4, 8, 2, 0.01, 0.01).culprits == std::vector<base::Rank>{{2}});
}

TEST_CASE("the others of its machine tell on it whatever the machines' clocks say") {
  const Verdict verdict = always_late(4, 2, 3, 0.1, 0.1, {-3.0, 4.5});
  CHECK(verdict.culprits == std::vector<base::Rank>{{3}});
}

TEST_CASE("alone on its machine it cannot be told from one whose clock is wrong") {
  CHECK(always_late(3, 1, 1, 0.1, 0.1).finding == Finding::kNothing);
  CHECK(always_late(2, 1, 1, 0.1, 0.1).finding == Finding::kNothing);
}

TEST_CASE("a hang is no slowness") {
  Steps steps;
  steps.run(2, 0.2);
  steps.fleet.enter_all_but(1, {4});
  const Verdict verdict = analyze(steps.fleet.snapshot);
  CHECK(verdict.finding == Finding::kNeverEntered);
  CHECK(verdict.culprits == std::vector<base::Rank>{{4}});
}

}  // namespace
}  // namespace robustrun::tracer::analysis_late_test
