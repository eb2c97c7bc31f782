#pragma once
// A lower bound on the cost of any placement. Internal to topo/.
//
// For every set W of families, suppose that exactly the groups of W are whole. Then
// - each block of W (blocks.h) with L places is below one switch, which holds floor(c / L) blocks;
// - a group of another family that meets m blocks touches at least two switches, and at least as
//   many as hold m blocks, the largest first; and if the family has every place, its groups share
//   out the used switches;
// - two other families that cross like rows and columns of a matrix bound each other. Let each row
//   touch at most a switches and each column at most b. A switch that holds n blocks is in x rows
//   and y columns with x * y >= n (in blocks of a cell); the sum of x is at most a times the rows,
//   the sum of y at most b times the columns, so by Cauchy-Schwarz
//       a * b >= (sum of sqrt n)^2 / (sum of n),
//   and the right side is least when the largest switches are filled one after another (a sum of
//   concave functions is least at the vector that majorizes all others).
// The least cost over all W is a bound for any placement.

#include <cstdint>

#include "topo/solve/level_problem.h"

namespace robustrun::topo {

// In millionths, as Cost::worst of this level. `sharp`: for small jobs also uses crossing.h, which
// takes milliseconds.
std::int64_t lower_bound(const LevelProblem& problem, bool sharp);

}  // namespace robustrun::topo
