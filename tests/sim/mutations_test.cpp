// Proves that the invariants can fail, with drivers that are each broken in one way.

#include <doctest/doctest.h>

#include <map>

#include "tests/sim/cluster/cluster.h"
#include "tests/sim/draw_scenario.h"
#include "tests/support/sanitized.h"

namespace robustrun::sim::mutations_test {
namespace {

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
    {Mutation::kAdmitsUnfit, "group_is_of_admitted_nodes"},
    {Mutation::kTwoPlaces, "nodes_have_one_place"},
    {Mutation::kKnowsBetter, "places_are_as_solved"},
    {Mutation::kReplaysTwice, "replays_are_disjoint"},
    {Mutation::kReplaysLost, "replays_are_of_known_nodes"},
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
    {Mutation::kLooksForMarksOnce, "the_newest_is_found", 3'001},
    {Mutation::kPrunesUnverified, "retention_spares_the_newest"},
    {Mutation::kTrustsTheFence, "the_newest_is_found"},
    {Mutation::kSalvagesTheOld, "the_newest_is_found"},
    {Mutation::kIgnoresTheFence, "late_writers_commit_nothing"},
    {Mutation::kKeepsStrangers, "no_rank_lives_twice", 26'001},
    {Mutation::kMixesOrders, "workers_are_of_the_order_that_counts"},
    {Mutation::kSharesSessions, "only_the_admitted_save"},
    {Mutation::kRoundsTimes, "the_shadow_agrees"},
    {Mutation::kIgnoresDeaths, "every_incident_is_closed"},
    {Mutation::kIgnoresHangs, "every_incident_is_closed"},
    {Mutation::kDenial, "every_incident_is_closed"},
    {Mutation::kForgetsBackoff, "every_incident_is_closed"},
    {Mutation::kLazyTimers, "every_incident_is_closed"},
    {Mutation::kNeverRelaunches, "calm_runs_get_on"},
    {Mutation::kGenerousToMachines, "infrastructure_budget_is_kept"},
    {Mutation::kRefillsEarly, "budgets_are_refilled_by_progress"},
    {Mutation::kBlamesMachines, "free_restarts_have_a_reason"},
    {Mutation::kStaysOnRungs, "rungs_are_taken_so_often"},
    {Mutation::kSeatsTheEvicted, "group_is_of_admitted_nodes"},
    {Mutation::kHidesSaving, "nobody_loads_before_copies_are_saved"},
};

TEST_CASE("a driver that is broken on purpose is caught, by the right invariant") {
  // Most are caught by the first few seeds, and sanitizers need no more.
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
}  // namespace robustrun::sim::mutations_test
