#pragma once
// What no placement can go below. Internal to topo/.
//
// For every set W of families: suppose that W's groups are all whole and the others' are not. Then
// - W's blocks (blocks.h) of L places lie below one switch each, which holds floor(c / L) of them;
// - a group of another family that meets m blocks touches at least two switches, and as many as it
//   takes to hold m blocks, the largest first; and if the family has every place, the switches in
//   use are shared out among its groups;
// - two others that cross like rows and columns of a matrix bound each other. Let each row touch at
//   most a switches and each column at most b. A switch that holds n blocks lies in x rows and y
//   columns with x * y >= n (in blocks of a cell); the x sum up to a times the rows at most, the y
//   to b times the columns, so by Cauchy-Schwarz
//       a * b >= (sum of sqrt n)^2 / (sum of n),
//   and the right side is least when the largest switches are filled one after another (a sum of
//   concave functions is least at the vector that majorizes all others).
// The least cost over all W is a bound for any placement.

#include <cstdint>

#include "topo/solve/level_problem.h"

namespace robustrun::topo {

// In millionths, as Cost::worst of this level. `sharp`: small jobs are looked at more closely
// (crossing.h), which takes milliseconds.
std::int64_t lower_bound(const LevelProblem& problem, bool sharp);

}  // namespace robustrun::topo
