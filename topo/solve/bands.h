#pragma once
// Fillings that keep neither rows nor columns whole. Internal to topo/.
//
// They may be best if a job needs many switches, and both rows and columns have weight. The matrix
// (blocks.h) is cut into bands of rows, and each band into strips of columns, one switch per strip.
// With s switches per band, a row touches s switches, and a column touches one per band. A band of
// h rows fits if the sum of floor(c / h) over its switches is at least the number of columns, where
// c is the number of cells that a switch holds. Alternatively, strips may end within a column,
// preferably within different columns in different bands. Such a column touches one more switch,
// but no room is lost.

#include <vector>

#include "topo/solve/blocks.h"
#include "topo/solve/level_problem.h"

namespace robustrun::topo {

// At most four assignments with `per_band` switches per band: the bands have switches of similar or
// of mixed sizes, and strips end between columns or within them. Kinds that do not fit are left
// out. All places must be of one class; `rows` and `columns` must satisfy blocks_cross().
std::vector<Assignment> fill_bands(const LevelProblem& problem, const Blocks& rows,
                                   const Blocks& columns, std::uint32_t per_band);

// Whether each row meets each column in the same number of places, and there are at least two of
// each.
bool blocks_cross(const Blocks& rows, const Blocks& columns);

}  // namespace robustrun::topo
