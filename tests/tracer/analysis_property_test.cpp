// Properties of every verdict, over random jobs; and the time that the largest takes.
#include <doctest/doctest.h>

#include <algorithm>
#include <ctime>
#include <numeric>

#include "tests/support/sanitized.h"
#include "tests/tracer/random_job.h"
#include "tests/tracer/ring_simulator.h"

namespace robustrun::tracer::analysis_property_test {
namespace {

using Ranks = std::vector<std::uint32_t>;
constexpr std::uint64_t kSeeds = robustrun::test::kSanitized ? 100 : 400;

// A healthy rank is never named, and less knowledge never raises the confidence.
void check_weaker(const Verdict& full, const Verdict& partial, std::uint32_t culprit) {
  CAPTURE(full.sentence);
  CAPTURE(partial.sentence);
  CHECK(partial.confidence <= full.confidence);
  for (const base::Rank rank : partial.culprits) CHECK(rank.value == culprit);
}

TEST_CASE("the planted culprit of a random job is named, and it alone") {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const RandomJob job(seed);
    const Verdict verdict = job.fleet().verdict();
    CAPTURE(seed);
    CAPTURE(verdict.sentence);
    CHECK(verdict.finding == job.expected());
    CHECK(numbers(verdict.culprits) == Ranks{job.culprit()});
    CHECK(verdict.confidence == Confidence::kExact);
    CHECK(verdict.victims.size() == job.world() - 1);
    CHECK(verdict.lasting >= seconds(10));
  }
}

TEST_CASE("permuting the ranks permutes the verdict") {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const RandomJob job(seed);
    const Fleet fleet = job.fleet();
    Ranks to(job.world());
    std::iota(to.begin(), to.end(), 0);
    base::Rng rng(seed);
    for (std::size_t i = to.size(); i > 1; --i) std::swap(to[i - 1], to[rng.below(i)]);
    Fleet other = fleet;
    for (RankSnapshot& rank : other.snapshot.ranks) {
      rank.rank = {to[rank.rank.value]};
      for (Membership& m : rank.comms) m.rank = m.size - 1 - m.rank;
    }
    std::ranges::sort(other.snapshot.ranks, {}, &RankSnapshot::rank);
    const Verdict a = fleet.verdict();
    const Verdict b = other.verdict();
    CAPTURE(seed);
    Ranks culprits;
    for (const base::Rank r : a.culprits) culprits.push_back(to[r.value]);
    Ranks victims;
    for (const base::Rank r : a.victims) victims.push_back(to[r.value]);
    std::ranges::sort(victims);
    CHECK(numbers(b.culprits) == culprits);
    CHECK(numbers(b.victims) == victims);
    CHECK(b.finding == a.finding);
    CHECK(b.confidence == a.confidence);
    CHECK(b.comm == a.comm);
    CHECK(b.ordinal == a.ordinal);
    CHECK(b.lasting == a.lasting);
    CHECK(b.nodes == a.nodes);
  }
}

TEST_CASE("without some ranks' snapshots no healthy rank is named") {
  std::size_t named = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const RandomJob job(seed);
    Fleet fleet = job.fleet();
    const Verdict full = fleet.verdict();
    base::Rng rng(seed + 7);
    for (std::uint64_t i = 0, n = 1 + rng.below(job.world() - 1); i < n; ++i) {
      fleet.drop(static_cast<std::uint32_t>(rng.below(job.world())));
      if (rng.below(2) == 0) fleet.snapshot.world_size = 0;
      const Verdict partial = fleet.verdict();
      CAPTURE(seed);
      // An unseen rank may be suspected, by name and as inferred.
      const bool is_suspicion = partial.sentence.find("has no record") != std::string::npos;
      if (is_suspicion) CHECK(partial.confidence == Confidence::kInferred);
      if (!is_suspicion) check_weaker(full, partial, job.culprit());
      named += partial.culprits.empty() ? 0 : 1;
    }
  }
  CHECK(named > kSeeds / 2);  // otherwise the test would prove nothing
}

TEST_CASE("without some of the evidence no healthy rank is named") {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const RandomJob job(seed);
    Fleet fleet = job.fleet();
    const Verdict full = fleet.verdict();
    base::Rng rng(seed + 99);
    for (int i = 0; i < 6; ++i) {
      RankSnapshot& rank = fleet.snapshot.ranks[rng.below(job.world())];
      const std::uint64_t what = rng.below(5);
      if (what == 0) rank.evidence = {};
      if (what == 1) rank.life = Life::kUnknown;
      for (Membership& m : rank.comms) {
        if (what == 2) m.recent.clear();
        if (what == 3) m.pending.clear();
        if (what == 4) m.counts_completion = false;
      }
      const Verdict partial = fleet.verdict();
      CAPTURE(seed);
      CAPTURE(what);
      const bool is_suspicion = partial.sentence.find("has no record") != std::string::npos;
      if (is_suspicion) CHECK(partial.confidence == Confidence::kInferred);
      if (!is_suspicion) check_weaker(full, partial, job.culprit());
    }
  }
}

TEST_CASE("without some flows no healthy rank and no healthy link is named") {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    base::Rng rng(seed);
    Plan plan{.ranks = 4 + static_cast<std::uint32_t>(rng.below(8)),
              .channels = 2,
              .is_tree = rng.below(2) == 0,
              .fault = Planted::kGpuHang};
    plan.rank = static_cast<std::uint32_t>(rng.below(plan.ranks));
    plan.peer = (plan.rank + 1) % plan.ranks;
    if (!plan.is_tree && rng.below(2) == 0) plan.fault = Planted::kLinkStuck;
    RingSimulator simulator(plan);
    simulator.run();
    Fleet fleet = simulator.fleet();
    const Verdict full = fleet.verdict();
    for (int i = 0; i < 8; ++i) {
      Membership& m = fleet.in(1, static_cast<std::uint32_t>(rng.below(plan.ranks)));
      if (!m.flows.empty())
        m.flows.erase(m.flows.begin() + static_cast<std::ptrdiff_t>(rng.below(m.flows.size())));
      const Verdict partial = fleet.verdict();
      CAPTURE(seed);
      CAPTURE(plan.is_tree);
      CAPTURE(full.sentence);
      CAPTURE(partial.sentence);
      CHECK(partial.confidence <= full.confidence);
      for (const base::Rank rank : partial.culprits) CHECK(rank.value == plan.rank);
      for (const Edge& edge : partial.edges) CHECK(edge == Edge{{plan.rank}, {plan.peer}});
    }
  }
}

// Four groups each of 16,384 ranks: tensor, pipeline, data, world.
Fleet largest(std::uint32_t world, std::uint32_t culprit) {
  constexpr std::uint32_t kTensor = 8;
  constexpr std::uint32_t kPipeline = 16;
  FleetSnapshot snapshot;
  snapshot.world_size = world;
  for (std::uint32_t r = 0; r < world; ++r) {
    RankSnapshot rank;
    rank.rank = {r};
    rank.node = "node" + std::to_string(r / 8);
    rank.local_rank = {r % 8};
    rank.life = Life::kRunning;
    const std::uint32_t tensor = r % kTensor;
    const std::uint32_t stage = r / kTensor % kPipeline;
    const std::uint32_t copy = r / (kTensor * kPipeline);
    const std::uint32_t copies = world / (kTensor * kPipeline);
    const std::uint32_t of_culprit = culprit / (kTensor * kPipeline);
    struct Row {
      std::uint64_t comm;
      std::uint32_t size, rank;
      bool is_inside;
    };
    // In the culprit's copy, ranks wait for the member of their tensor group that waits in its
    // pipeline.
    const bool is_near = copy == of_culprit && tensor != culprit % kTensor;
    const bool is_in_copy = copy == of_culprit && tensor == culprit % kTensor;
    const std::uint32_t family = tensor + kTensor * stage;
    for (const Row& row :
         {Row{1'000'000 + r / kTensor, kTensor, tensor, is_near},
          Row{2'000'000 + tensor + kTensor * copy, kPipeline, stage, is_in_copy},
          Row{3'000'000 + family, copies, copy, copy != of_culprit}, Row{4, world, r, false}}) {
      Membership m;
      m.comm = row.comm;
      m.size = row.size;
      m.rank = row.rank;
      m.entered = m.started = m.done = 1000;
      for (std::uint64_t n = 993; n <= 1000; ++n) m.recent.push_back({n, all_reduce()});
      if (row.is_inside && r != culprit) {
        m.entered = m.started = 1001;
        m.recent.push_back({1001, all_reduce()});
        Operation operation;
        operation.ordinal = 1001;
        operation.signature = all_reduce();
        operation.age = operation.unchanged = seconds(10);
        m.pending.push_back(operation);
      }
      rank.comms.push_back(std::move(m));
    }
    ThreadStack stack;
    stack.is_main = true;
    for (std::uint32_t i = 0; i < 12; ++i) {
      stack.frames.push_back({"function", "/v/lib/python3.11/site-packages/torch/module.py", i});
    }
    stack.frames.push_back({"main", "/home/me/train.py", r % 7});
    rank.evidence.stacks.push_back(std::move(stack));
    snapshot.ranks.push_back(std::move(rank));
  }
  Fleet fleet(0);
  fleet.snapshot = std::move(snapshot);
  return fleet;
}

TEST_CASE("16,384 ranks with four communicators each are analysed in a moment" *
          doctest::skip(robustrun::test::kSanitized)) {
  constexpr std::uint32_t kWorld = 16'384;
  constexpr std::uint32_t kCulprit = 5'003;
  const Fleet fleet = largest(kWorld, kCulprit);
  const std::clock_t before = std::clock();
  const Verdict verdict = fleet.verdict();
  const double took = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  MESSAGE("processor time for 16,384 ranks: " << took << " s");
  CHECK(verdict.finding == Finding::kNeverEntered);
  CHECK(numbers(verdict.culprits) == Ranks{kCulprit});
  CHECK(verdict.confidence == Confidence::kExact);
  CHECK(verdict.victims.size() > kWorld * 9 / 10);
#ifdef __OPTIMIZE__
  CHECK(took < 4);
#endif
}

}  // namespace
}  // namespace robustrun::tracer::analysis_property_test
