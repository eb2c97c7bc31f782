#pragma once
// The best assignment of places to the switches of one level that can be found. Internal to topo/.
//
// Every set of families is tried as what stays whole, with blocks whole and divided (fill.h). While
// the bound is not met: bands and strips (bands.h, strips.h), other orders of the switches,
// exchange (improve.h) and, for small jobs, all there is (exact.h).

#include <string>

#include "topo/solve/level_problem.h"

namespace robustrun::topo {

struct LevelSolution {
  Assignment assignment;
  Cost cost;
  std::int64_t bound = 0;  // as lower_bound(), or `cost.worst` if proven to be the best
  bool searched = false;  // proven by exact search
  bool filled = false;  // by a filling alone
  std::string how;  // for people
};

// `thorough`: below, for what a higher level has divided already, fillings are enough: there it is
// worth 0.3 % at most (Arnold section 3).
LevelSolution solve_level(const LevelProblem& problem, bool thorough);

}  // namespace robustrun::topo
