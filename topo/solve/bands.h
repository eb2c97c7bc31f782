#pragma once
// Fillings where neither rows nor columns stay whole. Internal to topo/.
//
// A job that needs many switches and weighs both kinds of groups is better off in between: the
// matrix is cut into bands of whole rows, and a band into strips of whole columns, a switch each.
// With s switches per band a row touches s of them and a column as many as there are bands. A band
// of the switches S is as high as the largest h with sum over S of floor(c / h) >= columns. Or
// strips end anywhere, each column being divided in one band at most: a column touches one switch
// more then, but no room is lost.

#include <vector>

#include "topo/solve/blocks.h"
#include "topo/solve/level_problem.h"

namespace robustrun::topo {

// One assignment for each way to make bands of `per_band` switches that works; for places of one
// class. `rows` and `columns` cross: each row meets each column in equally many places.
std::vector<Assignment> fill_bands(const LevelProblem& problem, const Blocks& rows,
                                   const Blocks& columns, std::uint32_t per_band);

// Whether they cross so.
bool blocks_cross(const Blocks& rows, const Blocks& columns);

}  // namespace robustrun::topo
