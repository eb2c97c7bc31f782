#pragma once
// The scenario of a seed.

#include "tests/sim/network.h"
#include "tests/sim/scenario_draws.h"

namespace robustrun::sim {

// Half of all seeds are calm: messages arrive once and in order, agents live. There budgets can be
// checked exactly.
inline Scenario draw_scenario(std::uint64_t seed) {
  Dice dice(seed * 2654435761U + 1);
  Scenario s;
  s.seed = seed;
  s.spec = draw_spec(dice);
  const auto some = [&dice](double probability) { return dice.chance(0.5) ? probability : 0.0; };
  if (dice.chance(0.5)) {
    s.lost = some(0.02);
    s.late = some(0.03);
    s.twice = some(0.1);
    s.dies = some(0.3);
    s.never_joins = some(0.1);
    s.cannot_start = some(0.1);
    s.machine_dies = some(0.3);
    s.cut_off = some(0.1);
    s.deaf = some(0.1);
    s.unkillable = some(0.1);
    s.slow_start = some(0.02);
    s.port_fails = some(0.1);
  }
  s.ignores_term = some(0.2);
  s.finishes = dice.one_of({0.1, 0.5, 0.9});
  s.start_fails = some(0.05);
  s.port_conflicts = some(0.1);
  s.has_bug = dice.chance(0.15);
  s.reports_steps = dice.chance(0.7);
  s.keeps_copies = seed % 3 != 0;
  s.crashes = dice.one_of({0.0, 0.0, 0.005, 0.02});
  s.lives_on = seed % 4 != 3 ? 0.5 : 0.0;
  draw_troubles(dice, s);
  s.commands = dice.chance(0.15) ? 0.03 : 0.0;
  s.hangs = dice.chance(0.2) ? 0.05 : 0.0;
  s.has_tracer = dice.chance(0.6);
  s.node_ends = dice.chance(0.1) ? 0.02 : 0.0;
  s.departs = seed % 8 == 1 ? 0.01 : 0.0;
  if (dice.chance(0.3)) {
    s.spec.preflight =
        dice.one_of({supervisor::PreflightDepth::kFast, supervisor::PreflightDepth::kFull});
    s.unfit = some(0.2);
    s.warned = some(0.2);
  }
  draw_policy(dice, s);
  draw_signals(dice, s);
  if (dice.chance(0.15)) open_up(dice, s);
  if (dice.chance(0.2)) s.spec.stop_after_steps = 10 + dice.below(1000);
  s.latest_end = hours(24 * 20);
  // With lost messages a run may not notice its end: here a time limit ends it.
  if (s.lost > 0 || dice.chance(0.2)) {
    s.spec.time_limit = s.lost > 0 ? hours(6) : dice.between(seconds(1), hours(2));
    s.latest_end = *s.spec.time_limit + s.spec.deadlines.shutdown_grace +
                   s.spec.deadlines.kill_margin + seconds(1);
    if (s.crashes > 0 || s.commands > 0) s.latest_end += hours(1);
  }
  if (dice.chance(0.3)) {
    std::set<std::string> names;
    for (const supervisor::NodeSpec& node : s.spec.nodes) names.insert(node.name);
    for (const Scenario::Volunteer& volunteer : s.volunteers) names.insert(volunteer.node.name);
    s.placement = draw_network(dice, names);
    s.spec.placement = supervisor::placement_use(s.placement);
    s.never_placed = dice.chance(0.2) ? 0.2 : 0.0;
    s.misplaced = dice.chance(0.2) ? 0.3 : 0.0;
  }
  s.updates = draw_updates(dice);
  draw_end(s);
  // A rollback needs an older version.
  if (s.spec.policy.is_on() && dice.chance(0.8)) {
    s.updates.push_back({dice.between(minutes(2), minutes(20)), UINT32_MAX, true, {}});
  }
  return s;
}

}  // namespace robustrun::sim
