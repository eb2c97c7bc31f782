#pragma once
// A lower bound on the cost of any placement. Internal to topo/.
//
// For every set W of families, suppose that exactly the groups of W have a spread of 0. Then
// - each block of W (blocks.h) is below one switch. If no block has fewer than L places, a switch
//   with c nodes holds at most floor(c / L) blocks.
// - a group of any other family touches at least two switches. If it meets m blocks, it touches at
//   least as many switches as hold m blocks, the largest first. If the g groups of a family cover
//   all places, and u switches are used, some group touches at least u / g switches.
// - two other families that cross like the rows and columns of a matrix limit each other. Let each
//   row touch at most a switches and each column at most b. A switch that holds n blocks is in x
//   rows and y columns, with k * x * y >= n for k blocks per cell. The sum of x over all switches
//   is at most a times the number of rows, the sum of y at most b times the number of columns. So
//   by Cauchy-Schwarz
//       a * b >= (sum of sqrt n)^2 / (sum of n).
//   The right side is least if the largest switches are filled one after another (a sum of concave
//   functions is least at the vector that majorizes all others).
// The least cost over all W is a lower bound for any placement.

#include <cstdint>

#include "topo/solve/level_problem.h"

namespace robustrun::topo {

// In millionths, as Cost::worst of this level. `sharp`: also use crossing.h for jobs of at most
// kCrossingPlacesMax places, which takes milliseconds.
std::int64_t lower_bound(const LevelProblem& problem, bool sharp);

}  // namespace robustrun::topo
