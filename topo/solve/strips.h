#pragma once
// Fillings that divide the groups of both families, for groups that overlap. Internal to topo/.
//
// If stages do not end where nodes do, the groups of a family form a chain, and every band
// (bands.h) divides some of them once more. So the matrix is cut the other way: into strips of
// whole columns, each with its own switches, filled along the rows. A column touches the switches
// of its strip; a row touches one switch of each strip, and one more where a strip changes from one
// switch to the next, which seldom happens to two strips in the same row.
//
// It never happens if all columns of a strip begin at the same slot of a node, and so have their
// nodes at the same rows: stages with an offset of 0 and of 4 ranks make two such strips.

#include "topo/solve/level_problem.h"

namespace robustrun::topo {

// `across`, `along`: the families with the columns and the rows as groups. Empty if the
// switches cannot be divided among that many strips.
Assignment fill_strips(const LevelProblem& problem, std::uint32_t across, std::uint32_t along,
                       std::uint32_t strips);

// One strip per slot at which pipeline stages begin. Empty if all begin at the same slot, if
// nodes differ in size, or if the shape is only a part of a job.
Assignment fill_phases(const LevelProblem& problem);

}  // namespace robustrun::topo
