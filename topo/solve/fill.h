#pragma once
// Fillings of switches by blocks, one switch after another. Internal to topo/.
//
// This is the closed form of Arnold's problem (arXiv 2509.15940, eq. 4 to 10, with whole nodes): if
// every block of L places stays below one switch, it takes the fewest switches with sum of floor(c
// / L) >= blocks, the largest first; if blocks may be divided, the fewest with sum of c >= places,
// and a block then touches two switches if all used ones hold at least L - 1.

#include "topo/solve/blocks.h"
#include "topo/solve/level_problem.h"

namespace robustrun::topo {

// Blocks stay whole while some switch has room for one; the rest is divided.
Assignment fill_whole(const LevelProblem& problem, const Blocks& blocks);

// Fills each switch completely before the next one, and uses as few as possible: every `stride`-th
// in descending size, around and around. A group across several small switches touches fewer if
// large ones are among them. Empty if the stride misses some switches.
Assignment fill_packed(const LevelProblem& problem, const Blocks& blocks, std::uint32_t stride);

}  // namespace robustrun::topo
