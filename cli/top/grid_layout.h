#pragma once
// How the grid of `robustrun top` fits its space: nodes as rows with a cell per rank; one cell per
// node where that needs too much; one per rack, or per group of nodes, where this does, too. Pure.

#include <cstdint>

#include "cli/top/canvas.h"

namespace robustrun::cli {

struct GridLayout {
  enum class Kind : std::uint8_t { kRanks, kNodes, kRacks };
  Kind kind = Kind::kRanks;
  int label_columns = 0;  // of a row's label, with its gap
  int cell_columns = 2;
  int rows = 0;  // without the head of kRanks
  // kRanks: tables side by side, each of `rows` nodes.
  int tables = 1;
  int table_columns = 0;
  // kNodes, kRacks: cells in a row.
  int cells_per_row = 0;
  int nodes_per_cell = 1;  // of kNodes
};

// `nodes`: at least 1. `ranks`: the most that a node has. `label_columns`: of the longest name.
[[nodiscard]] GridLayout lay_out_grid(int nodes, int ranks, int label_columns, Size space);
// A cell for each of `racks`, with its name where there is room for all names (label_columns is 0
// then), else with the name of each row's first rack. rows is 0: they do not fit. `label_columns`:
// of the longest name.
[[nodiscard]] GridLayout lay_out_racks(int racks, int label_columns, Size space);

}  // namespace robustrun::cli
