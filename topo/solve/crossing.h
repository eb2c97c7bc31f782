#pragma once
// Whether a matrix fits below switches such that no row and no column touches more than a given
// number of them. Internal to topo/.
//
// Consider a matrix of `rows` times `columns` cells, each of `per_cell` blocks. A switch of size c
// that is in x rows and y columns holds at most min(c, per_cell * x * y) blocks. If no row touches
// more than a switches and no column more than b, the sum of x over all switches is at most
// a * rows, and the sum of y at most b * columns. For any prices p of a row and q of a column, all
// switches together then hold at most
//     p * a * rows + q * b * columns
//     + sum over switches of max over x, y of (min(c, per_cell * x * y) - p * x - q * y)
// blocks (Lagrangian relaxation). If this is less than the matrix has, for any p and q, the matrix
// does not fit.

#include <cstdint>
#include <vector>

namespace robustrun::topo {

struct Matrix {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t per_cell = 0;
  [[nodiscard]] std::uint32_t blocks() const { return rows * columns * per_cell; }
};

// False: proven impossible. `sizes`: how many blocks each switch holds. `per_row`, `per_column`: a
// and b.
bool may_cross(const Matrix& matrix, const std::vector<std::uint32_t>& sizes, std::uint32_t per_row,
               std::uint32_t per_column);

}  // namespace robustrun::topo
