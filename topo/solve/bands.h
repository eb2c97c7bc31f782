#pragma once
// Fillings that keep neither rows nor columns whole. Internal to topo/.
//
// A job that needs many switches and weighs both kinds of groups is better off in between: the
// matrix is cut into bands of whole rows, and a band into strips of whole columns, one switch each.
// With s switches per band a row touches s of them, and a column as many as there are bands. The
// height of a band with the switches S is the largest h with sum over S of floor(c / h) >= columns.
// Alternatively strips end anywhere, with each column divided in at most one band: a column then
// touches one more switch, but no room is lost.

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
