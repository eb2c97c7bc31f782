#pragma once
// Improvement of an assignment by exchange. Internal to topo/.
//
// Only what holds the cost up is looked at: the groups of largest spread, and of those the places
// below the switch that holds fewest of the group. Each is moved, or exchanged with another place,
// if the cost (and among equals the sum of spreads) becomes less. Ends when no step helps, when
// `goal` is reached or after `steps_max` trials.

#include <cstdint>

#include "topo/solve/level_problem.h"

namespace robustrun::topo {

Assignment improve(const LevelProblem& problem, Assignment assignment, std::int64_t goal,
                   std::uint64_t steps_max);

}  // namespace robustrun::topo
