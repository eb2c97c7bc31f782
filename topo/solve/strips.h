#pragma once
// Fillings that divide the groups of both families, for groups that overlap. Internal to topo/.
//
// If pipeline stages do not end where nodes do, the groups of a family overlap in nodes and form a
// chain, and every band (bands.h) divides some of them once more. So the matrix (blocks.h) is cut
// the other way: into strips of whole columns, each with its own switches, filled along the rows. A
// column touches only the switches of its strip. A row touches one switch of each strip, or two if
// the strip goes on to its next switch within that row; seldom do two strips go on in the same row.
//
// If all columns of a strip begin at the same slot of a node, all their nodes end at the same rows.
// Then the strip can go on to its next switch between two rows. For example, stages that begin at
// slots 0 and 4 make two such strips (fill_phases()).

#include "topo/solve/level_problem.h"

namespace robustrun::topo {

// `across`: index of the family whose groups are the columns; `along`: of the family whose groups
// are the rows. Empty if the switches cannot be divided among that many strips.
Assignment fill_strips(const LevelProblem& problem, std::uint32_t across, std::uint32_t along,
                       std::uint32_t strips);

// One strip per slot at which pipeline stages begin. Empty if the places cannot be divided
// in this way: for example, if all stages begin at the same slot, if nodes differ in size, or if
// the shape is only a part of a job.
Assignment fill_phases(const LevelProblem& problem);

}  // namespace robustrun::topo
