// The pure core under a virtual clock: worker deaths, lost, late and repeated messages, dying
// agents, supervisor crashes with replay, user's signals. See invariants.h for what must hold.
//
//   ROBUSTRUN_SIM_SEED=17 test_sim    replays one seed and prints every event and action
//   ROBUSTRUN_SIM_SEEDS=100000 test_sim    runs more seeds than CI does

#include <doctest/doctest.h>

#include <cstdlib>
#include <map>

#include "tests/sim/cluster.h"

namespace robustrun::sim::sim_test {
namespace {

constexpr std::uint64_t kSeedsInCi = 2000;

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

Outcome run_seed(std::uint64_t seed, bool print = false) {
  const Scenario scenario = draw_scenario(seed);
  return Cluster(scenario, Mutation::kNone, print).run();
}

TEST_CASE("every invariant holds in every run") {
  const std::uint64_t only = number_from("ROBUSTRUN_SIM_SEED", 0);
  const std::uint64_t first = only != 0 ? only : 1;
  const std::uint64_t last = only != 0 ? only : number_from("ROBUSTRUN_SIM_SEEDS", kSeedsInCi);
  std::map<int, int> exit_codes;
  std::set<core::Rule> rules;
  std::uint64_t attempts = 0, crashes = 0, events = 0;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    const Outcome outcome = run_seed(seed, only != 0);
    if (outcome.violation) {
      FAIL_CHECK("seed " << seed << " breaks " << outcome.violation->rule << ": "
                         << outcome.violation->what << "\n  replay: ROBUSTRUN_SIM_SEED=" << seed
                         << " " RR_BIN_DIR "/test_sim");
    }
    ++exit_codes[outcome.exit_code.value_or(-1)];
    rules.insert(outcome.rules.begin(), outcome.rules.end());
    attempts += outcome.attempts;
    crashes += outcome.supervisor_crashes;
    events += outcome.events;
  }
  std::string codes;
  for (const auto& [code, count] : exit_codes) codes += fmt::format(" {}:{}", code, count);
  MESSAGE((last - first + 1) << " runs, " << attempts << " attempts, " << events << " events, "
                             << crashes << " supervisor crashes; exit codes" << codes);
  if (only != 0) return;
  // The seeds reach every way to end, and every rule but these: crashes are replayed by the cluster
  // itself, there is no scheduler that takes the nodes back, and workers that wait do so for
  // nobody.
  const auto unreached = {core::Rule::kResumed,       core::Rule::kPreempted,
                          core::Rule::kNodeEnding,    core::Rule::kHangSuspected,
                          core::Rule::kHangConvicted, core::Rule::kHangPassed,
                          core::Rule::kNodeReturned};
  for (const core::Rule rule : unreached) CHECK_FALSE(rules.contains(rule));
  CHECK(rules.size() + unreached.size() == static_cast<std::size_t>(core::Rule::kMetricFault) + 1);
  for (const int code : {0, 1, 93, 94, 95, 124, 126, 127, 129, 130, 137, 143}) {
    CAPTURE(code);
    CHECK(exit_codes.contains(code));
  }
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

// Proof that the invariants can fail: each of these drivers is wrong in one way.
TEST_CASE("a driver that is broken on purpose is caught, by the right invariant") {
  struct Row {
    Mutation mutation;
    const char* rule;
  };
  constexpr Row kRows[] = {
      {Mutation::kDoesNotWait, "never_two_attempts_alive"},
      {Mutation::kSameAttempt, "attempts_rise"},
      {Mutation::kWhispers, "no_start_before_all_are_gone"},
      {Mutation::kRankTwice, "ranks_are_a_permutation"},
      {Mutation::kOtherPort, "master_is_the_same_everywhere"},
      {Mutation::kGenerous, "budget_is_kept"},
      {Mutation::kTwoFinishes, "one_finish_and_nothing_after"},
      {Mutation::kNoFinish, "every_run_ends"},
      {Mutation::kLazyTimers, "every_run_ends"},
      {Mutation::kNoTimers, "every_wait_has_a_deadline"},
      {Mutation::kTornJournal, "replay_restores_the_state"},
      {Mutation::kOptimist, "success_is_true"},
      {Mutation::kSpeaksNative, "compat_knows_one_failure"},
      {Mutation::kKeepsAgents, "agents_are_dismissed"},
      {Mutation::kNeverKills, "nothing_outlives_the_run"},
      {Mutation::kSameGeneration, "generations_rise_by_one"},
      {Mutation::kRestless, "agents_are_replaced_for_a_reason"},
      {Mutation::kBlindToUnkillable, "nothing_starts_beside_the_unkillable"},
      {Mutation::kSilent, "decisions_say_why"},
      {Mutation::kWrongPlace, "survivors_keep_their_ranks"},
      {Mutation::kShrinksTooFar, "group_is_within_its_bounds"},
      {Mutation::kHidesSpares, "spares_are_used"},
      {Mutation::kHidesSpares, "waits_for_want_of_nodes"},
      {Mutation::kDenial, "group_is_of_admitted_nodes"},
      {Mutation::kRestless, "volunteers_are_not_launched"},
      {Mutation::kObeysThePast, "the_past_is_not_obeyed"},
      {Mutation::kTakesAnybody, "group_is_of_admitted_nodes"},
      {Mutation::kTwoPlaces, "nodes_have_one_place"},
      {Mutation::kKnowsBetter, "places_are_as_solved"},
      {Mutation::kReplaysTwice, "replays_are_disjoint"},
      {Mutation::kReplaysAnybody, "replays_are_of_known_nodes"},
  };
  constexpr std::uint64_t kSeeds = 500;
  for (const Row& row : kRows) {
    std::map<std::string, int> caught;
    for (std::uint64_t seed = 1; seed <= kSeeds && caught[row.rule] == 0; ++seed) {
      const Scenario scenario = draw_scenario(seed);
      const Outcome outcome = Cluster(scenario, row.mutation, false).run();
      if (outcome.violation) ++caught[outcome.violation->rule];
    }
    CAPTURE(std::string(row.rule));
    CHECK(caught[row.rule] > 0);
  }
}

}  // namespace
}  // namespace robustrun::sim::sim_test
