// R7 by arrivals: a rank that repeatedly arrives last, whatever the clocks say.
#include <doctest/doctest.h>

#include "base/core/clock.h"
#include "tests/tracer/fleet.h"

namespace robustrun::tracer::analysis_late_test {
namespace {

constexpr std::uint32_t kWorld = 6;
constexpr double kEpoch = 1.7e9;

// Steps of two collectives, in two communicators with the same members: after some work all ranks
// meet in the first one, and proceed directly to the second.
struct Steps {
  Fleet fleet{kWorld, 1};  // every rank on its own machine
  std::vector<double> clock = std::vector<double>(kWorld, 0);   // error of each clock
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
  // `late`: how late each rank is for the first collective.
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

constexpr std::uint32_t kNone = kWorld;

TEST_CASE("a rank that is late for one collective of every step is named") {
  for (std::uint32_t slow = 0; slow < kWorld; ++slow) {
    Steps steps;
    const Verdict verdict = steps.run(slow, 0.2);
    CHECK(verdict.finding == Finding::kSlowRank);
    CHECK(verdict.culprits == std::vector<base::Rank>{{slow}});
    CHECK(verdict.victims.size() == kWorld - 1);
    CHECK(verdict.sentence.find("arrives last, 20") != std::string::npos);
    CHECK(verdict.sentence.find("at 40 of 80 collectives") != std::string::npos);
  }
}

TEST_CASE("wrong clocks change nothing") {
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    base::Rng rng(seed);
    Steps steps;
    for (double& wrong : steps.clock) wrong = static_cast<double>(rng.next() % 20000) / 1000 - 10;
    CHECK(Steps(steps).run(kNone, 0).finding == Finding::kNothing);
    CHECK(steps.run(3, 0.2).culprits == std::vector<base::Rank>{{3}});
  }
}

TEST_CASE("noise of a busy machine, and ranks that take turns, are not lateness") {
  Steps noisy;
  noisy.noise = 0.2;
  CHECK(noisy.run(kNone, 0, 100).finding == Finding::kNothing);
  Steps turns;
  for (std::uint64_t n = 1; n <= 60; ++n) {
    std::vector<double> late(kWorld, 0);
    late[n % kWorld] = 0.3;
    turns.step(n, late);
  }
  CHECK(analyze(turns.fleet.snapshot).finding == Finding::kNothing);
}

TEST_CASE("few late operations, or little time lost, are not reported") {
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

TEST_CASE("long pauses of one rank do not make it slow, however much time they take") {
  Steps pauses;
  for (std::uint64_t n = 1; n <= 200; ++n) {
    std::vector<double> late(kWorld, 0);
    if (n % 20 == 0) late[0] = 3;  // it evaluates
    pauses.step(n, late);
  }
  CHECK(analyze(pauses.fleet.snapshot).finding == Finding::kNothing);
}

TEST_CASE("with an unseen member no rank is named") {
  Steps steps;
  steps.run(2, 0.2);
  steps.fleet.snapshot.ranks.erase(steps.fleet.snapshot.ranks.begin());
  CHECK(analyze(steps.fleet.snapshot).finding == Finding::kNothing);
}

TEST_CASE("implausible times name no rank, and a node without a name is left out") {
  for (const std::int64_t far : {std::int64_t{1} << 60U, std::int64_t{INT64_MAX}}) {
    Steps steps;
    steps.run(kNone, 0);
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

// One collective per step, as with a small DDP model: a late rank is late for every one.
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

TEST_CASE("a rank that is always late is named by comparison with others on its machine") {
  for (const std::uint32_t world : {2U, 3U, 4U, 8U}) {
    for (const double factor : {1.5, 2.0, 3.0}) {
      CAPTURE(world);
      CAPTURE(factor);
      const Verdict verdict = always_late(world, 8, 1, 0.1, 0.1 * (factor - 1));
      CHECK(verdict.finding == Finding::kSlowRank);
      CHECK(verdict.culprits == std::vector<base::Rank>{{1}});
      CHECK(verdict.lost_share == doctest::Approx(1 - 1 / factor).epsilon(0.05));
      CHECK(always_late(world, 8, kNone + 9, 0.1, 0).finding == Finding::kNothing);
    }
  }
  // With short steps a smaller delay counts.
  CHECK(always_late(4, 8, 2, 0.01, 0.01).culprits == std::vector<base::Rank>{{2}});
}

TEST_CASE("ranks of one machine are compared whatever the machines' clocks say") {
  const Verdict verdict = always_late(4, 2, 3, 0.1, 0.1, {-3.0, 4.5});
  CHECK(verdict.culprits == std::vector<base::Rank>{{3}});
}

TEST_CASE("a rank alone on its machine cannot be distinguished from one with a wrong clock") {
  CHECK(always_late(3, 1, 1, 0.1, 0.1).finding == Finding::kNothing);
  CHECK(always_late(2, 1, 1, 0.1, 0.1).finding == Finding::kNothing);
}

TEST_CASE("a hang is not slowness") {
  Steps steps;
  steps.run(2, 0.2);
  steps.fleet.enter_all_but(1, {4});
  const Verdict verdict = analyze(steps.fleet.snapshot);
  CHECK(verdict.finding == Finding::kNeverEntered);
  CHECK(verdict.culprits == std::vector<base::Rank>{{4}});
}

}  // namespace
}  // namespace robustrun::tracer::analysis_late_test
