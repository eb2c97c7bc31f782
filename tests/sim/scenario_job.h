#pragma once
// The job of a scenario: its nodes, budgets and deadlines.

#include <string>

#include "supervisor/core/types/job_spec.h"
#include "tests/sim/event_queue.h"

namespace robustrun::sim {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;

// Most groups have machines of one kind. Some have spares, some may be smaller than wanted.
inline void draw_nodes(Dice& dice, supervisor::JobSpec& spec) {
  const auto most = static_cast<std::uint32_t>(1 + dice.below(4));
  const bool has_spares = dice.chance(0.5);
  const std::uint64_t nodes = most + (has_spares ? 1 + dice.below(3) : 0);
  const auto slots = static_cast<std::uint32_t>(1 + dice.below(4));
  const bool alike = dice.chance(0.7);
  for (std::uint64_t i = 0; i < nodes; ++i) {
    spec.nodes.push_back({"node" + std::to_string(i), "10.0.0." + std::to_string(i),
                          alike ? slots : static_cast<std::uint32_t>(1 + dice.below(4))});
  }
  if (has_spares) spec.group.max_nodes = most;
  if (dice.chance(0.4)) spec.group.min_nodes = static_cast<std::uint32_t>(1 + dice.below(most));
  spec.group.wait_for_nodes = dice.one_of<Nanos>({Nanos{}, Nanos{}, seconds(45), minutes(20)});
}

inline supervisor::JobSpec draw_spec(Dice& dice) {
  supervisor::JobSpec spec;
  spec.run_id = "sim";
  draw_nodes(dice, spec);
  spec.compat = dice.chance(0.2);
  if (dice.chance(0.2)) spec.master_port = 29500;
  spec.restart.max_restarts = dice.one_of({0U, 1U, 2U, 3U, 10U});
  spec.restart.window = dice.one_of<Nanos>({minutes(5), minutes(30), hours(1)});
  spec.restart.max_infrastructure_restarts = static_cast<std::uint32_t>(1 + dice.below(8));
  spec.restart.crash_loop_retries = static_cast<std::uint32_t>(dice.below(3));
  spec.deadlines.shutdown_grace = dice.one_of<Nanos>({Nanos{}, seconds(5), seconds(30)});
  return spec;
}

}  // namespace robustrun::sim
