#pragma once
// Improves an assignment by exchanges. Internal to topo/.
//
// Considers only what determines the cost: the groups of largest spread, and their places below the
// switch that holds the fewest of them. Each such place is moved, or exchanged with another place,
// if that lowers the cost (or, at equal cost, the sum of spreads). Ends when no step helps, when
// the cost is at most `goal`, or after `steps_max` trials.

#include <cstdint>

#include "topo/solve/level_problem.h"

namespace robustrun::topo {

Assignment improve(const LevelProblem& problem, Assignment assignment, std::int64_t goal,
                   std::uint64_t steps_max);

}  // namespace robustrun::topo
