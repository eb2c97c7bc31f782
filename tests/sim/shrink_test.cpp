// The report about a run that breaks an invariant is short, correct, and reproducible.

#include "tests/sim/shrink.h"

#include <doctest/doctest.h>

#include <iterator>
#include <span>

#include "tests/support/sanitized.h"

namespace robustrun::sim::shrink_test {
namespace {

struct Found {
  Scenario scenario;
  Outcome outcome;
};

// The first run of a broken driver that breaks `rule` after at least `least` mishaps.
Found first_broken(Mutation mutation, const std::string& rule, std::size_t least) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    const Scenario scenario = draw_scenario(seed);
    const Outcome outcome = Cluster(scenario, mutation, false).run();
    const bool is_it = outcome.violation && outcome.violation->rule == rule;
    if (is_it && outcome.struck.size() >= least) return {scenario, outcome};
  }
  FAIL("no seed breaks " << rule << " with " << least << " mishaps");
  return {};
}

Outcome run_only(const Found& found, Mutation mutation, const std::vector<Struck>& struck) {
  std::set<MishapId> allowed;
  for (const Struck& one : struck) allowed.insert(one.id);
  return Cluster(found.scenario, mutation, false, &allowed).run();
}

bool breaks(const Outcome& outcome, const std::string& rule) {
  return outcome.violation && outcome.violation->rule == rule;
}

struct Row {
  Mutation mutation;
  const char* rule;
};
constexpr Row kRows[] = {
    {Mutation::kDoesNotWait, "never_two_attempts_alive"},
    {Mutation::kDenial, "group_is_of_admitted_nodes"},
    {Mutation::kForgetsSaves, "nothing_starts_before_copies_are_saved"},
};
constexpr std::size_t kAtFirst = 20;  // mishaps, at least
constexpr std::size_t kAtMost = 10;   // of which are enough

TEST_CASE("a run is shortened to the necessary mishaps, and still breaks the invariant") {
  // The others take minutes under a sanitizer, and the same code paths.
  for (const Row& row : std::span(kRows).first(test::kSanitized ? 1 : std::size(kRows))) {
    CAPTURE(std::string(row.rule));
    const Found found = first_broken(row.mutation, row.rule, kAtFirst);
    const Shrunk shrunk = shrink(found.scenario, row.mutation, found.outcome);
    MESSAGE(std::string(row.rule) << ", seed " << found.scenario.seed << ": "
                                  << words_of(shrunk, found.outcome.struck.size()));
    CHECK(shrunk.is_minimal);
    CHECK(shrunk.runs <= Shrinker::kRunsMax);
    CHECK(shrunk.struck.size() >= 1);
    CHECK(shrunk.struck.size() <= kAtMost);
    const Outcome again = run_only(found, row.mutation, shrunk.struck);
    CHECK(breaks(again, row.rule));
    CHECK(again.struck == shrunk.struck);
    for (std::size_t i = 0; i < shrunk.struck.size(); ++i) {
      std::vector<Struck> fewer = shrunk.struck;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      CHECK_FALSE(breaks(run_only(found, row.mutation, fewer), row.rule));
    }
    const Shrunk twice = shrink(found.scenario, row.mutation, found.outcome);
    CHECK(twice.struck == shrunk.struck);
    CHECK(twice.runs == shrunk.runs);
  }
}

TEST_CASE("a failure without any mishap is shortened to nothing") {
  const Found found = first_broken(Mutation::kSilent, "decisions_say_why", 1);
  const Shrunk shrunk = shrink(found.scenario, Mutation::kSilent, found.outcome);
  CHECK(shrunk.struck.empty());
  CHECK(shrunk.runs == 1);
  const std::string text = complaint(found.scenario, found.outcome, shrunk, "test_sim");
  CAPTURE(text);
  const std::string seed = "ROBUSTRUN_SIM_SEED=" + std::to_string(found.scenario.seed);
  CHECK(text.find(" breaks decisions_say_why: an empty sentence") != std::string::npos);
  CHECK(text.find("replay: " + seed + " test_sim") != std::string::npos);
  CHECK(text.find("0 of " + std::to_string(found.outcome.struck.size())) != std::string::npos);
}

TEST_CASE("removing a mishap leaves earlier ones unchanged") {
  int compared = 0;
  constexpr std::uint64_t kSeeds = test::kSanitized ? 40 : 200;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Scenario scenario = draw_scenario(seed);
    const Outcome all = Cluster(scenario, Mutation::kNone, false).run();
    if (all.struck.size() < 2) continue;
    std::set<MishapId> allowed;
    for (const Struck& one : all.struck) allowed.insert(one.id);
    const Outcome same = Cluster(scenario, Mutation::kNone, false, &allowed).run();
    CAPTURE(seed);
    CHECK(same.trace_hash == all.trace_hash);
    allowed.erase(all.struck.back().id);
    const Outcome fewer = Cluster(scenario, Mutation::kNone, false, &allowed).run();
    CHECK(std::vector(all.struck.begin(), all.struck.end() - 1) == fewer.struck);
    ++compared;
  }
  CHECK(compared > static_cast<int>(kSeeds / 4));
}

}  // namespace
}  // namespace robustrun::sim::shrink_test
