#pragma once
// How the grid of `robustrun top` fits its space: nodes as rows with a cell per rank; one cell per
// node where that needs too much; one per group of nodes where this does, too. Pure.

#include <cstdint>

#include "cli/top/canvas.h"

namespace robustrun::cli {

struct GridLayout {
  enum class Kind : std::uint8_t { kRanks, kNodes };
  Kind kind = Kind::kRanks;
  int label_columns = 0;  // of a row's label, with its gap
  int cell_columns = 2;
  int rows = 0;  // without the head of kRanks
  // kRanks: tables side by side, each of `rows` nodes.
  int tables = 1;
  int table_columns = 0;
  // kNodes: cells in a row, and nodes per cell.
  int cells_per_row = 0;
  int nodes_per_cell = 1;
};

// `nodes`: at least 1. `ranks`: the most that a node has. `label_columns`: of the longest name.
[[nodiscard]] GridLayout lay_out_grid(int nodes, int ranks, int label_columns, Size space);

}  // namespace robustrun::cli
