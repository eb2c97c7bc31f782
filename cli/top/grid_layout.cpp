#include "cli/top/grid_layout.h"

#include <algorithm>

namespace robustrun::cli {
namespace {

constexpr int kLabelColumnsMax = 20;
constexpr int kLabelGap = 2;
constexpr int kTableGap = 3;
constexpr int kRackColumns = 2 + kTableGap;  // beside its name: a space, its letter, the gap
constexpr int kNodesPerCellMax = 1 << 20;

int divide_up(int number, int by) { return (number + by - 1) / by; }

// The largest round number up to `most`, so that rows begin with round numbers.
int round_down(int most) {
  for (const int round : {256, 128, 64, 32, 16, 8}) {
    if (round <= most) return round;
  }
  return std::max(1, most);
}

}  // namespace

GridLayout lay_out_grid(int nodes, int ranks, int label_columns, Size space) {
  GridLayout layout;
  layout.label_columns = std::min(label_columns, kLabelColumnsMax) + kLabelGap;
  layout.table_columns = layout.label_columns + layout.cell_columns * std::max(1, ranks);
  const int body_rows = std::max(1, space.rows - 1);  // without the head
  const int tables = (space.columns + kTableGap) / (layout.table_columns + kTableGap);
  layout.table_columns += kTableGap;
  if (tables >= 1 && divide_up(nodes, tables) <= body_rows) {
    layout.tables = divide_up(nodes, body_rows);
    layout.rows = divide_up(nodes, layout.tables);
    return layout;
  }
  layout.kind = GridLayout::Kind::kNodes;
  const int most = std::max(1, (space.columns - layout.label_columns) / layout.cell_columns);
  layout.cells_per_row = round_down(most);
  const int rows = std::max(1, space.rows);
  if (divide_up(nodes, layout.cells_per_row) > rows) layout.cells_per_row = most;
  while (divide_up(divide_up(nodes, layout.nodes_per_cell), layout.cells_per_row) > rows &&
         layout.nodes_per_cell < kNodesPerCellMax) {
    layout.nodes_per_cell *= 2;
  }
  if (layout.nodes_per_cell > 1) {
    layout.cells_per_row = round_down(most);
    if (divide_up(divide_up(nodes, layout.nodes_per_cell), layout.cells_per_row) > rows) {
      layout.cells_per_row = most;
    }
  }
  layout.rows = divide_up(divide_up(nodes, layout.nodes_per_cell), layout.cells_per_row);
  return layout;
}

GridLayout lay_out_racks(int racks, int label_columns, Size space) {
  GridLayout layout;
  layout.kind = GridLayout::Kind::kRacks;
  const int label = std::min(label_columns, kLabelColumnsMax);
  const int rows = std::max(1, space.rows);
  layout.cell_columns = label + kRackColumns;
  layout.cells_per_row = (space.columns + kTableGap) / layout.cell_columns;
  if (layout.cells_per_row > 0 && divide_up(racks, layout.cells_per_row) <= rows) {
    // Even rows: no rack stands alone in the last one where that can be avoided.
    layout.rows = divide_up(racks, layout.cells_per_row);
    layout.cells_per_row = divide_up(racks, layout.rows);
    return layout;
  }
  layout.label_columns = label + kLabelGap;
  layout.cell_columns = 2;
  const int most = std::max(1, (space.columns - layout.label_columns) / layout.cell_columns);
  layout.cells_per_row = round_down(most);
  if (divide_up(racks, layout.cells_per_row) > rows) layout.cells_per_row = most;
  layout.rows = divide_up(racks, layout.cells_per_row);
  if (layout.rows > rows) layout.rows = 0;
  return layout;
}

}  // namespace robustrun::cli
