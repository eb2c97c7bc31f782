#pragma once
// The best assignment of a small job. Internal to topo/.
//
// Depth-first search over places, one switch after another; of switches that are alike and hold
// nothing yet only the first is tried. A branch ends when what its groups touch already costs as
// much as the best known one: spreads only grow.

#include <cstdint>
#include <optional>

#include "topo/solve/level_problem.h"

namespace robustrun::topo {

struct Exact {
  Assignment assignment;   // the best one, `known` if none is better
  bool proven = false;     // all was searched, or `goal` reached, within `steps_max`
};

Exact search_exact(const LevelProblem& problem, Assignment known, std::int64_t goal,
                   std::uint64_t steps_max);

}  // namespace robustrun::topo
