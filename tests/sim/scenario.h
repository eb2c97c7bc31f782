#pragma once
// What one seed stands for: a job, and how much goes wrong around it.

#include <csignal>
#include <string>
#include <vector>

#include "supervisor/core/events.h"
#include "supervisor/placement_request.h"
#include "tests/sim/event_queue.h"
#include "tests/sim/network.h"
#include "tests/sim/scenario_job.h"
#include "tests/sim/shipped_ladders.h"
#include "tests/sim/update_wish.h"
#include "tests/supervisor/policy_words.h"

namespace robustrun::sim {

struct Scenario {
  std::uint64_t seed = 0;
  supervisor::JobSpec spec;

  // Messages between supervisor and agents, both ways.
  double lost = 0, late = 0, twice = 0;
  // Agents: of each one started.
  double dies = 0, never_joins = 0, cannot_start = 0, deaf = 0;
  double machine_dies = 0;      // with everything on it; it may come back
  double cut_off = 0;           // is given up while it lives, and its workers with it
  // Workers: of each one started.
  double ignores_term = 0, unkillable = 0, slow_start = 0;
  // Attempts.
  double finishes = 0.5;        // all ranks end well
  double start_fails = 0;       // a worker's program cannot be run
  double port_conflicts = 0, port_fails = 0;
  bool has_bug = false;         // dies at start, the same way every time
  bool reports_steps = true;
  bool keeps_copies = false;    // agents can reach each other, and workers copy their state

  // Of each node with an agent, once a minute: something that may pass, or that has broken it.
  double flaps = 0, breaks = 0;
  double node_ends = 0;         // will be taken away, it is said
  double hangs = 0;             // of each minute of a running attempt

  // Of each node that is checked.
  double unfit = 0, warned = 0;

  // Of each question who gets which place.
  double never_placed = 0, misplaced = 0;
  supervisor::PlacementRequest placement;

  double crashes = 0;           // of the supervisor, per event
  struct Signal {
    Nanos at;
    int number;
    bool forward_only;
    supervisor::SignalReceived::Cause cause;
  };
  std::vector<Signal> signals;
  struct Volunteer {
    Nanos at;
    supervisor::NodeSpec node;
  };
  std::vector<Volunteer> volunteers;   // who come by themselves, to an open group

  std::vector<UpdateWish> updates;

  Nanos latest_end{};           // a run that lasts longer is stuck
};

// Nobody is known; everybody comes by himself, some late, some again.
inline void open_up(Dice& dice, Scenario& s) {
  std::vector<supervisor::NodeSpec> nodes;
  nodes.swap(s.spec.nodes);
  s.spec.group.open = true;
  if (s.spec.group.max_nodes == 0) {
    s.spec.group.max_nodes = static_cast<std::uint32_t>(nodes.size());
  }
  s.spec.group.wait_for_nodes = dice.one_of<Nanos>({seconds(90), minutes(10)});
  for (supervisor::NodeSpec& node : nodes) {
    node.volunteer = true;
    if (dice.chance(0.2)) node.node_rank = static_cast<std::uint32_t>(dice.below(4));
    Nanos at{};
    do {
      at += dice.chance(0.8) ? dice.between({}, seconds(40)) : dice.between({}, hours(1));
      s.volunteers.push_back({at, node});
    } while (dice.chance(0.3));
  }
}

inline void draw_policy(Dice& dice, Scenario& s) {
  if (s.spec.compat || !dice.chance(0.5)) return;
  s.spec.policy = supervisor::test::full_policy();
  s.spec.policy.ladders = shipped_ladders();
  s.spec.policy.forgotten_after = dice.one_of<Nanos>({minutes(1), minutes(10)});
  s.spec.policy.check =
      dice.one_of({supervisor::PreflightDepth::kFast, supervisor::PreflightDepth::kFull});
  s.spec.faults = supervisor::test::policy_faults();
  if (dice.chance(0.5)) {
    s.spec.faults.push_back(supervisor::test::row_of("a hang", supervisor::Layer::kInfrastructure,
                                                     supervisor::Confidence::kHigh,
                                                     supervisor::FirstAction::kEvict));
    s.spec.faults.back().texts.clear();
    s.spec.faults.back().found = {"hang"};
  }
  s.spec.policy.acts_on_nan = s.seed % 3 != 0;
  s.spec.replays_own_program = s.seed % 2 == 0;
  s.flaps = dice.chance(0.5) ? 0.05 : 0.0;
  s.breaks = dice.chance(0.5) ? 0.005 : 0.0;
}

inline void draw_signals(Dice& dice, Scenario& s) {
  for (std::uint64_t i = dice.chance(0.3) ? 1 + dice.below(4) : 0; i > 0; --i) {
    using Cause = supervisor::SignalReceived::Cause;
    const bool forward = dice.chance(0.4);
    const Nanos at = dice.chance(0.5) ? dice.between({}, seconds(5)) : dice.between({}, hours(1));
    const auto cause =
        forward ? Cause::kNone
                : dice.one_of({Cause::kNone, Cause::kNone, Cause::kPreempted, Cause::kTimeLimit});
    const int number = forward ? SIGUSR1 : dice.one_of({SIGTERM, SIGINT, SIGHUP});
    s.signals.push_back({at, number, forward, cause});
  }
}

// Half of all seeds are calm: messages arrive once and in order, agents live. There the budget's
// arithmetic is exact.
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
  s.crashes = some(0.02);
  s.hangs = dice.chance(0.2) ? 0.05 : 0.0;
  s.node_ends = dice.chance(0.1) ? 0.02 : 0.0;
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
  // Where messages are lost a run may not notice that it has ended: that takes another issue's
  // hang detection, and here a time limit.
  if (s.lost > 0 || dice.chance(0.2)) {
    s.spec.time_limit = s.lost > 0 ? hours(6) : dice.between(seconds(1), hours(2));
    s.latest_end = *s.spec.time_limit + s.spec.deadlines.shutdown_grace +
                   s.spec.deadlines.kill_margin + seconds(1);
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
  // An older version is needed for a step back.
  if (s.spec.policy.is_on() && dice.chance(0.8)) {
    s.updates.push_back({dice.between(minutes(2), minutes(20)), UINT32_MAX, true, {}});
  }
  return s;
}

}  // namespace robustrun::sim
