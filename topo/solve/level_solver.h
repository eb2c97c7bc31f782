#pragma once
// Finds a good assignment of places to the switches of one level. Internal to topo/.
//
// A family is all groups of one kind (shape.h). For every set of families, fills the switches with
// that set's blocks, whole and divided (fill.h). While the cost is above the bound, tries bands and
// strips (bands.h, strips.h), other orders of the switches, exchanges (improve.h) and, for small
// jobs, exhaustive search (exact.h).

#include <string>

#include "topo/solve/level_problem.h"

namespace robustrun::topo {

struct LevelSolution {
  Assignment assignment;
  Cost cost;
  std::int64_t bound = 0;  // lower_bound(), or `cost.worst` if proven optimal
  bool searched = false;  // proven optimal by exhaustive search
  std::string how;  // the method in words
};

// `thorough`: whether to try more than fill.h. Below a level that has divided the places, fill.h
// suffices: the gain is at most 0.3 % (Arnold, arXiv 2509.15940, section 3).
LevelSolution solve_level(const LevelProblem& problem, bool thorough);

}  // namespace robustrun::topo
