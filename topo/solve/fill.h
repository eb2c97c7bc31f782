#pragma once
// Fillings of switches by blocks, one switch after another. Internal to topo/.
//
// This is the closed form of Arnold's problem (arXiv 2509.15940, eq. 4 to 10, with whole nodes).
// Let c be the number of places that a switch holds. If each block of L places must stay below one
// switch, the largest switches are taken until the sum of floor(c / L) reaches the number of
// blocks. If blocks may be divided, switches are taken until the sum of c reaches the number of
// places; a block then touches at most two switches if c >= L - 1 for each of them.

#include "topo/solve/blocks.h"
#include "topo/solve/level_problem.h"

namespace robustrun::topo {

// Blocks stay whole as long as some switch has room for one; the remaining blocks are divided.
Assignment fill_whole(const LevelProblem& problem, const Blocks& blocks);

// Uses as few switches as possible, and fills each completely before the next. Takes every
// `stride`-th switch by descending size, cyclically. A stride above 1 mixes large switches with
// small ones, so that a group touches fewer switches than in a row of small ones. Empty if this
// order misses some switches, because `stride` and their number have a common divisor.
Assignment fill_packed(const LevelProblem& problem, const Blocks& blocks, std::uint32_t stride);

}  // namespace robustrun::topo
