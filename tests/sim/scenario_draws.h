#pragma once
// Parts of a scenario that are drawn together.

#include <csignal>

#include "tests/sim/scenario.h"

namespace robustrun::sim {

// No node is known; all join by themselves, some late, some again.
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

inline void draw_troubles(Dice& dice, Scenario& s) {
  s.is_local = dice.chance(0.1);
  s.long_away = dice.chance(0.5);
  s.wrong_clocks = dice.chance(0.4) ? 0.5 : 0.0;
  if (s.is_local || !dice.chance(0.4)) return;
  s.connection_breaks = dice.one_of({0.0, 0.005, 0.03});
  s.slow_ways = dice.chance(0.3) ? 0.3 : 0.0;
  s.partitions = dice.chance(0.5) ? static_cast<std::uint32_t>(1 + dice.below(3)) : 0;
  s.racks_die = dice.chance(0.3) ? 0.5 : 0.0;
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

// With separate dice, so that everything else stays the same. Lost messages are never repeated, so
// some of these runs do not notice their end.
inline void draw_end(Scenario& s) {
  constexpr std::uint64_t kCalmOneIn = 4, kShortOneIn = 16;
  if (s.lost > 0) return;
  Dice dice(s.seed);
  if (s.seed % kCalmOneIn == 1) {
    s.calm_from = dice.between({}, dice.one_of<Nanos>({minutes(2), minutes(20), hours(1)}));
  }
  // At their beginning, in states that last only a moment.
  if (s.seed % kShortOneIn == 6) {
    s.spec.time_limit = dice.between(milliseconds(500), seconds(20));
    s.latest_end = *s.spec.time_limit + hours(1) + minutes(1);
  }
}

}  // namespace robustrun::sim
