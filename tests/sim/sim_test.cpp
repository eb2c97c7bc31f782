// The pure core, hang watch, analyzer and placement under a virtual clock: worker deaths, dying
// agents and racks, connections that break, partitions, wrong clocks, supervisors that die and are
// followed by another, commands at the worst time. See invariants.h for what must hold.
//
//   ROBUSTRUN_SIM_SEED=17 test_sim    replays one seed and prints every event and action
//   ROBUSTRUN_SIM_SHORT=1 with it: of the shortened run, if the seed breaks an invariant
//   ROBUSTRUN_TEST_ROUNDS=100000 test_sim    runs more seeds than CI does
//   ROBUSTRUN_SIM_FIRST=5000 test_sim    begins with that seed

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <map>

#include "supervisor/core/rule_words.h"
#include "tests/sim/shrink.h"
#include "tests/support/sanitized.h"

namespace robustrun::sim::sim_test {
namespace {

constexpr std::uint64_t kSeedsInCi = test::kSanitized ? 500 : 20'000;

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
  return complaint(scenario, broken, shrunk, RR_BIN_DIR "/test_sim");
}

// What no run here can come to, and why.
struct Unreached {
  core::Rule rule;
  const char* why;
};
constexpr std::array<Unreached, 0> kUnreachedRules{};

// In how many runs each was reached.
struct Reached {
  std::map<int, std::uint64_t> exit_codes;
  std::map<core::Rule, std::uint64_t> rules;
  std::map<PolicyRow, std::uint64_t> rows;
  std::uint64_t attempts = 0, crashes = 0, events = 0;
  std::uint64_t formers = 0, obeyed_formers = 0, fenced = 0;
  std::uint64_t saves_of_formers = 0, refused_saves_of_formers = 0;
  std::uint64_t reunions = 0, refusals = 0, convictions = 0, right_evictions = 0;

  void add(const Outcome& outcome) {
    ++exit_codes[outcome.exit_code.value_or(-1)];
    for (const core::Rule rule : outcome.rules) ++rules[rule];
    for (const PolicyRow& row : outcome.rows) ++rows[row];
    attempts += outcome.attempts;
    crashes += outcome.supervisor_crashes;
    events += outcome.events;
    formers += outcome.formers;
    obeyed_formers += outcome.obeyed_formers;
    fenced += outcome.fenced;
    saves_of_formers += outcome.saves_of_formers;
    refused_saves_of_formers += outcome.refused_saves_of_formers;
    reunions += outcome.reunions;
    refusals += outcome.refusals;
    convictions += outcome.convictions;
    right_evictions += outcome.right_evictions;
  }
};

// Rows of the policy that no run has come to; and what was rare, for people.
std::vector<std::string> unreached_rows(const Reached& reached) {
  std::vector<std::string> missing;
  std::size_t rows = 0;
  std::string rarest;
  std::uint64_t least = UINT64_MAX;
  for (const core::Ladder& ladder : shipped_ladders()) {
    for (std::size_t rung = 0; rung < ladder.rungs.size(); ++rung) {
      ++rows;
      const auto found = reached.rows.find({ladder.action, rung});
      if (found == reached.rows.end()) {
        missing.push_back(words_of(ladder, rung));
      } else if (found->second < least) {
        least = found->second;
        rarest = words_of(ladder, rung);
      }
    }
  }
  MESSAGE("rows of the policy: " << rows - missing.size() << " of " << rows
                                 << " reached; the rarest in " << least << " runs: " << rarest);
  return missing;
}

std::vector<std::string> unreached_rules(const Reached& reached) {
  std::vector<std::string> missing;
  std::string rarest;
  std::uint64_t least = UINT64_MAX;
  constexpr int kRules = static_cast<int>(core::Rule::kCopiesAwaited) + 1;
  for (int i = 0; i < kRules; ++i) {
    const auto rule = static_cast<core::Rule>(i);
    const auto excused = std::ranges::find(kUnreachedRules, rule, &Unreached::rule);
    const auto found = reached.rules.find(rule);
    if (excused != kUnreachedRules.end()) {
      CHECK_MESSAGE(found == reached.rules.end(),
                    "can be reached after all: " << std::string(core::rule_word(rule)));
      MESSAGE("rule that is not reached: " << std::string(core::rule_word(rule)) << ": "
                                           << std::string(excused->why));
    } else if (found == reached.rules.end()) {
      missing.emplace_back(core::rule_word(rule));
    } else if (found->second < least) {
      least = found->second;
      rarest = core::rule_word(rule);
    }
  }
  MESSAGE("rules of the core: " << reached.rules.size() << " of " << kRules
                                << " reached; the rarest in " << least << " runs: " << rarest);
  return missing;
}

TEST_CASE("every invariant holds in every run, and every row of the policy is reached") {
  const std::uint64_t only = number_from("ROBUSTRUN_SIM_SEED", 0);
  const std::uint64_t first = only != 0 ? only : number_from("ROBUSTRUN_SIM_FIRST", 1);
  const std::uint64_t runs = only != 0 ? 1 : number_from("ROBUSTRUN_TEST_ROUNDS", kSeedsInCi);
  constexpr int kShortened = 3;  // of the runs that fail: each takes many others
  int broken = 0;
  Reached reached;
  for (std::uint64_t seed = first; seed < first + runs; ++seed) {
    const bool prints = only != 0 && number_from("ROBUSTRUN_SIM_SHORT", 0) == 0;
    const Outcome outcome = run_seed(seed, prints);
    if (outcome.violation) {
      ++broken;
      FAIL_CHECK((broken <= kShortened
                      ? complaint_about(seed, outcome)
                      : fmt::format("seed {} breaks {}", seed, outcome.violation->rule)));
    }
    reached.add(outcome);
  }
  std::string codes;
  for (const auto& [code, count] : reached.exit_codes) codes += fmt::format(" {}:{}", code, count);
  MESSAGE(runs << " runs from seed " << first << ", " << reached.attempts << " attempts, "
               << reached.events << " events, " << reached.crashes
               << " supervisor crashes; exit codes" << codes);
  MESSAGE(reached.reunions << " agents came back, " << reached.refusals << " came too late; "
                           << reached.convictions << " hangs convicted by their snapshots, "
                           << reached.right_evictions << " machines evicted for one");
  if (runs < kSeedsInCi || test::kSanitized) return;
  for (const std::string& row : unreached_rows(reached)) FAIL_CHECK("not reached: " << row);
  for (const std::string& rule : unreached_rules(reached)) FAIL_CHECK("not reached: " << rule);
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
  for (const int code : {0, 1, 93, 94, 95, 124, 126, 127, 129, 130, 137, 143}) {
    CAPTURE(code);
    CHECK(reached.exit_codes.contains(code));
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
struct Broken {
  Mutation mutation;
  const char* rule;
  std::uint64_t first_seed = 1;  // later for what the first thousands do not show
};
constexpr Broken kBroken[] = {
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
    {Mutation::kForgetsMarks, "nothing_starts_before_the_mark"},
    {Mutation::kMarksAnother, "marks_are_of_what_was_loaded"},
    {Mutation::kQuickToMark, "no_good_checkpoint_is_marked"},
    {Mutation::kLoadsTheMarked, "nobody_goes_on_from_what_is_marked"},
    {Mutation::kForgetsSaves, "nothing_starts_before_copies_are_saved"},
    {Mutation::kKeepsItsOwn, "copies_have_one_keeper_elsewhere"},
    {Mutation::kKeepsTwo, "copies_have_one_keeper_elsewhere"},
    {Mutation::kForgives, "machines_return_so_often"},
    {Mutation::kIgnoresStops, "stopped_runs_start_nothing"},
    {Mutation::kIgnoresStops, "stopped_runs_end_in_time"},
    {Mutation::kOldVersion, "updates_are_used"},
    {Mutation::kObeysTheFormer, "no_lower_incarnation_is_obeyed"},
    {Mutation::kForgetsOrders, "every_wait_has_a_deadline"},
    {Mutation::kForgetsFields, "the_journal_restores_the_state"},
    {Mutation::kRemembersWrong, "orders_are_repeated_as_they_were"},
    {Mutation::kFetchesNothing, "copies_are_fetched_from_where_they_are"},
    {Mutation::kBlamesNeighbours, "the_right_rank_is_named"},
    {Mutation::kConvictsNeighbours, "the_right_machine_goes"},
    {Mutation::kOrdersByClock, "the_newest_is_found"},
    {Mutation::kOrdersByStep, "the_newest_is_found"},
    {Mutation::kLooksForMarksOnce, "the_newest_is_found"},
    {Mutation::kPrunesUnverified, "retention_spares_the_newest"},
    {Mutation::kTrustsTheFence, "the_newest_is_found"},
    {Mutation::kSalvagesTheOld, "the_newest_is_found"},
    {Mutation::kIgnoresTheFence, "late_writers_commit_nothing"},
    {Mutation::kKeepsStrangers, "no_rank_lives_twice", 26'001},
    {Mutation::kMixesOrders, "workers_are_of_the_order_that_counts"},
    {Mutation::kSharesSessions, "only_the_admitted_save"},
};

TEST_CASE("a driver that is broken on purpose is caught, by the right invariant") {
  // Most are caught by the first few. What sanitizers look for needs no more.
  constexpr std::uint64_t kSeeds = test::kSanitized ? 5 : 3000;
  for (const Broken& row : kBroken) {
    std::map<std::string, int> caught;
    const std::uint64_t end = row.first_seed + kSeeds;
    for (std::uint64_t seed = row.first_seed; seed < end && caught[row.rule] == 0; ++seed) {
      const Scenario scenario = draw_scenario(seed);
      const Outcome outcome = Cluster(scenario, row.mutation, false).run();
      if (outcome.violation) ++caught[outcome.violation->rule];
    }
    CAPTURE(std::string(row.rule));
    CAPTURE(static_cast<int>(row.mutation));
    if (!test::kSanitized) CHECK(caught[row.rule] > 0);
  }
}

}  // namespace
}  // namespace robustrun::sim::sim_test
