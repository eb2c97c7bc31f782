#pragma once
// The layout of the grid of `robustrun top`. Each node is a row with a cell per rank. If that needs
// too much space, each node is one cell; if that is still too much, each rack or group of nodes is.
// Pure.

#include <cstdint>

#include "cli/top/canvas.h"

namespace robustrun::cli {

struct GridLayout {
  enum class Kind : std::uint8_t { kRanks, kNodes, kRacks };
  Kind kind = Kind::kRanks;
  int label_columns = 0;  // of a row's label, with its gap
  int cell_columns = 2;
  int rows = 0;  // without the head row of kRanks
  // kRanks: tables side by side, each of `rows` nodes.
  int tables = 1;
  int table_columns = 0;
  // kNodes, kRacks: cells in a row.
  int cells_per_row = 0;
  int nodes_per_cell = 1;  // of kNodes
};

// `nodes`: must be at least 1. `ranks`: the most that a node has. `label_columns`: of the longest
// name.
[[nodiscard]] GridLayout lay_out_grid(int nodes, int ranks, int label_columns, Size space);
// A cell for each of `racks` racks. If there is room for all names, each cell has one, and the
// result's label_columns is 0; otherwise each row begins with the name of its first rack. The
// result's rows is 0 if the cells do not fit. `label_columns`: of the longest name.
[[nodiscard]] GridLayout lay_out_racks(int racks, int label_columns, Size space);

}  // namespace robustrun::cli
