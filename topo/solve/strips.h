#pragma once
// Fillings where both families' groups are divided, for groups that overlap. Internal to topo/.
//
// Where stages do not end where nodes do, the groups of a family form a chain, and no band
// (bands.h) ends without dividing some of them once more. So the matrix is cut the other way: into
// strips of whole columns, each with switches of its own, filled along the rows. A column touches
// the switches of its strip; a row touches one switch of each strip, and one more where a strip
// goes over from one switch to the next, which seldom happens to two strips in the same row.
//
// It does not happen at all if a strip's columns begin at the same slot of a node, and so have
// their nodes at the same rows: stages with an offset of 0 and of 4 ranks make two such strips.

#include "topo/solve/level_problem.h"

namespace robustrun::topo {

// `across`, `along`: families of the shape whose groups are the columns and the rows. Nothing if
// the switches cannot be dealt out to so many strips.
Assignment fill_strips(const LevelProblem& problem, std::uint32_t across, std::uint32_t along,
                       std::uint32_t strips);

// A strip for the pipeline stages that begin at the same slot. Nothing if all do, if nodes differ
// in size, or if the shape is a part of a job's.
Assignment fill_phases(const LevelProblem& problem);

}  // namespace robustrun::topo
