// The pure core, hang watch, analyzer and placement under a virtual clock: worker deaths, dying
// agents and racks, broken connections, partitions, wrong clocks, supervisors that die and are
// replaced, commands at the worst time. See invariants.h for what must hold.
//
//   ROBUSTRUN_SIM_SEED=17 test_sim    replays one seed and prints every event and action
//   ROBUSTRUN_SIM_SHORT=1 with it: of the shortened run, if the seed breaks an invariant
//   ROBUSTRUN_TEST_ROUNDS=100000 test_sim    runs more seeds than CI does
//   ROBUSTRUN_SIM_FIRST=5000 test_sim    begins with that seed
//   ROBUSTRUN_SIM_SECONDS=600 test_sim    runs new seeds until the time is over
//
// Without any of these the last runs use new seeds.

#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <ctime>

#include "tests/paths.h"
#include "tests/sim/reached.h"
#include "tests/sim/shrink.h"
#include "tests/support/sanitized.h"

namespace robustrun::sim::sim_test {
namespace {

constexpr std::uint64_t kSeedsInCi = test::kSanitized ? 500 : 16'000;
// Seeds that reach rare cells (one in tens of thousands of runs). If a change makes them miss, a
// longer run (ROBUSTRUN_TEST_ROUNDS=40000) shows whether the cells can still be reached, and finds
// new seeds.
constexpr std::uint64_t kRareSeeds[] = {35'873,
                                        38'508};  // NodeEnding while replaying, while placing
constexpr std::uint64_t kFreshSeedsInCi = test::kSanitized ? 100 : 2'000;
// Processor time for both test cases, as a limit on the cost of changes. Hardware threads slow each
// other down, so under load the same work takes up to twice as long as alone.
constexpr int kSecondsInCi = 180;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

Outcome run_seed(std::uint64_t seed, bool print = false) {
  const Scenario scenario = draw_scenario(seed);
  return Cluster(scenario, Mutation::kNone, print).run();
}

std::string complaint_about(std::uint64_t seed, const Outcome& broken) {
  const Scenario scenario = draw_scenario(seed);
  const Shrunk shrunk = shrink(scenario, Mutation::kNone, broken);
  if (number_from("ROBUSTRUN_SIM_SHORT", 0) != 0) {
    std::set<MishapId> allowed;
    for (const Struck& one : shrunk.struck) allowed.insert(one.id);
    Cluster(scenario, Mutation::kNone, true, &allowed).run();
  }
  return complaint(scenario, broken, shrunk, built_program("test_sim"));
}

// Changes every second, in steps so large that no two starts share a seed.
std::uint64_t fresh_seed() {
  constexpr std::uint64_t kSpacing = 100'000;
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto count = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  return static_cast<std::uint64_t>(count) * kSpacing;
}

bool is_set(const char* variable) { return std::getenv(variable) != nullptr; }

// Runs seeds from `first` on, a given number of them or until `ends`.
class Runs {
 public:
  using Clock = std::chrono::steady_clock;

  void play(std::uint64_t first, std::uint64_t runs, Clock::time_point ends) {
    first_ = first;
    for (std::uint64_t seed = first; seed < first + runs && Clock::now() < ends; ++seed) {
      play_one(seed);
    }
  }
  void play_one(std::uint64_t seed, bool print = false) {
    const Outcome outcome = run_seed(seed, print);
    if (outcome.violation) {
      ++broken_;
      FAIL_CHECK((broken_ <= kShortened
                      ? complaint_about(seed, outcome)
                      : fmt::format("seed {} breaks {}", seed, outcome.violation->rule)));
    }
    reached.add(outcome);
  }
  void tell() const {
    std::string codes;
    for (const auto& [code, count] : reached.exit_codes) {
      codes += fmt::format(" {}:{}", code, count);
    }
    MESSAGE(reached.runs << " runs from seed " << first_ << ", " << reached.attempts
                         << " attempts, " << reached.events << " events, " << reached.crashes
                         << " supervisor crashes; exit codes" << codes);
    MESSAGE(reached.reunions << " agents came back, " << reached.refusals << " came too late; "
                             << reached.convictions << " hangs convicted by their snapshots, "
                             << reached.right_evictions << " machines evicted for one; "
                             << reached.calm << " runs went on when all was calm");
  }

  Reached reached;

 private:
  static constexpr int kShortened = 3;  // failing runs to shorten: each takes many others

  std::uint64_t first_ = 0;
  int broken_ = 0;
};

TEST_CASE("every invariant holds in every run, and every row of the policy is reached") {
  Runs runs;
  if (const std::uint64_t only = number_from("ROBUSTRUN_SIM_SEED", 0); only != 0) {
    return runs.play_one(only, number_from("ROBUSTRUN_SIM_SHORT", 0) == 0);
  }
  const std::uint64_t limit = number_from("ROBUSTRUN_SIM_SECONDS", 0);
  const auto ends = limit == 0 ? Runs::Clock::time_point::max()
                               : Runs::Clock::now() + std::chrono::seconds(limit);
  runs.play(number_from("ROBUSTRUN_SIM_FIRST", limit == 0 ? 1 : fresh_seed()),
            number_from("ROBUSTRUN_TEST_ROUNDS", limit == 0 ? kSeedsInCi : UINT32_MAX), ends);
  for (const std::uint64_t seed : kRareSeeds) runs.play_one(seed);
  runs.tell();
  const Reached& reached = runs.reached;
  if (reached.runs < kSeedsInCi || test::kSanitized) return;
  for (const std::string& row : unreached_rows(reached)) FAIL_CHECK("not reached: " << row);
  for (const std::string& rule : unreached_rules(reached)) FAIL_CHECK("not reached: " << rule);
  for (const std::string& cell : unreached_cells(reached)) FAIL_CHECK("not reached: " << cell);
  MESSAGE(reached.formers << " supervisors lived on: " << reached.obeyed_formers
                          << " of their orders were obeyed, " << reached.fenced << " refused; "
                          << reached.saves_of_formers << " saves of their workers were committed, "
                          << reached.refused_saves_of_formers << " not");
  CHECK(reached.obeyed_formers > 0);
  CHECK(reached.fenced > 0);
  CHECK(reached.saves_of_formers > 0);
  CHECK(reached.refused_saves_of_formers > 0);
  CHECK(reached.reunions > 0);
  CHECK(reached.refusals > 0);
  CHECK(reached.convictions > 0);
  CHECK(reached.right_evictions > 0);
  CHECK(reached.calm > 0);
  for (const int code : {0, 1, 93, 94, 95, 124, 126, 127, 129, 130, 137, 143}) {
    CAPTURE(code);
    CHECK(reached.exit_codes.contains(code));
  }
}

// The code has been fitted to the seeds above.
TEST_CASE("every invariant holds in runs of new seeds") {
  for (const char* chosen : {"ROBUSTRUN_SIM_SEED", "ROBUSTRUN_SIM_FIRST", "ROBUSTRUN_SIM_SECONDS",
                             "ROBUSTRUN_TEST_ROUNDS"}) {
    if (is_set(chosen)) return;
  }
  Runs runs;
  runs.play(fresh_seed(), kFreshSeedsInCi, Runs::Clock::time_point::max());
  runs.tell();
  CHECK((test::kSanitized || std::clock() / CLOCKS_PER_SEC < kSecondsInCi));
}

TEST_CASE("the same seed gives the same run, another seed another one") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    const Outcome one = run_seed(seed), other = run_seed(seed);
    CAPTURE(seed);
    CHECK(one.trace_hash == other.trace_hash);
    CHECK(one.events == other.events);
    CHECK(one.trace_hash != run_seed(seed + 1).trace_hash);
  }
}

}  // namespace
}  // namespace robustrun::sim::sim_test
