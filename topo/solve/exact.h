#pragma once
// The optimal assignment of a small job. Internal to topo/.
//
// Depth-first search over places, one switch after another; of equal empty switches only the first
// is tried. A branch ends when its groups already cost as much as the best known assignment, since
// spreads can only grow.

#include <cstdint>
#include <optional>

#include "topo/solve/level_problem.h"

namespace robustrun::topo {

struct Exact {
  Assignment assignment;   // the best one; `known` if nothing is better
  bool proven = false;     // the search was complete, or reached `goal`, within `steps_max`
};

// Ends early when the cost (Cost::worst) is at most `goal`, a lower bound.
Exact search_exact(const LevelProblem& problem, Assignment known, std::int64_t goal,
                   std::uint64_t steps_max);

}  // namespace robustrun::topo
