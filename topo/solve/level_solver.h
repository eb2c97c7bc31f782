#pragma once
// Finds a good assignment of places to the switches of one level. Internal to topo/.
//
// Tries to keep every set of families whole, with blocks whole and divided (fill.h). While the cost
// is above the bound: bands and strips (bands.h, strips.h), other orders of the switches, exchange
// (improve.h) and, for small jobs, exhaustive search (exact.h).

#include <string>

#include "topo/solve/level_problem.h"

namespace robustrun::topo {

struct LevelSolution {
  Assignment assignment;
  Cost cost;
  std::int64_t bound = 0;  // lower_bound(), or `cost.worst` if proven optimal
  bool searched = false;  // proven by exact search
  bool filled = false;  // found by a filling alone
  std::string how;  // the method in words
};

// `thorough`: false below a level that has divided the places: there fillings suffice, as the gain
// is at most 0.3 % (Arnold section 3).
LevelSolution solve_level(const LevelProblem& problem, bool thorough);

}  // namespace robustrun::topo
