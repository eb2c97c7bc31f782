#pragma once
// Fillings that keep neither rows nor columns whole. Internal to topo/.
//
// A job that needs many switches and weighs both kinds of groups may do better than with whole rows
// or whole columns: the matrix (blocks.h) is cut into bands of rows, and a band into strips of
// columns, one switch each.
// With s switches per band a row touches s switches, and a column touches one per band. A band of h
// rows fits if floor(c / h), summed over its switches of c cells each, is at least the number of
// columns. Alternatively strips end anywhere, with each column divided in at most one band: then a
// column touches one more switch, but no room is lost.

#include <vector>

#include "topo/solve/blocks.h"
#include "topo/solve/level_problem.h"

namespace robustrun::topo {

// One assignment for each possible division into bands of `per_band` switches; for places of one
// class. `rows` and `columns` must cross: each row meets each column in the same number of places.
std::vector<Assignment> fill_bands(const LevelProblem& problem, const Blocks& rows,
                                   const Blocks& columns, std::uint32_t per_band);

// Whether they cross in this way.
bool blocks_cross(const Blocks& rows, const Blocks& columns);

}  // namespace robustrun::topo
