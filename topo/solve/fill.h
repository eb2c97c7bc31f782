#pragma once
// Fillings of switches by blocks, one switch after another. Internal to topo/.
//
// This is the closed form of Arnold's problem (arXiv 2509.15940, eq. 4 to 10, with whole nodes):
// if every block of L places stays below one switch, it takes the fewest switches with
// sum of floor(c / L) >= blocks, the largest first; if blocks may be divided, the fewest with
// sum of c >= places, and a block then touches two switches where all used ones hold L - 1 or more.

#include "topo/solve/blocks.h"
#include "topo/solve/level_problem.h"

namespace robustrun::topo {

// Blocks stay whole as long as some switch has room for one; what is left is divided.
Assignment fill_whole(const LevelProblem& problem, const Blocks& blocks);

// Each switch is filled up before the next one is begun, and as few are used as can be: every
// `stride`-th of them in descending size, around and around. A group over several small switches
// touches fewer where large ones are among them. Nothing comes of a stride that misses some.
Assignment fill_packed(const LevelProblem& problem, const Blocks& blocks, std::uint32_t stride);

}  // namespace robustrun::topo
