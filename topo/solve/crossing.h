#pragma once
// Whether a matrix fits below switches so that no row and no column touches many. Internal.
//
// Consider a matrix of `rows` times `columns` cells, each of `per_cell` blocks. A switch of size c
// that is in x rows and y columns holds at most min(c, per_cell * x * y). If no row touches more
// than a switches and no column more than b, the sum of x over all switches is at most a * rows,
// and that of y at most b * columns. For any prices p and q of a row and a column, all switches
// together then hold at most
//     p * a * rows + q * b * columns + sum of max over x, y of (min(c, per_cell * x * y) - p x - q
//     y)
// (Lagrange's relaxation). If that is less than the matrix for some prices, it is impossible.

#include <cstdint>
#include <vector>

namespace robustrun::topo {

struct Matrix {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t per_cell = 0;
  [[nodiscard]] std::uint32_t blocks() const { return rows * columns * per_cell; }
};

// False: proven impossible. `sizes`: of the switches, in blocks.
bool may_cross(const Matrix& matrix, const std::vector<std::uint32_t>& sizes, std::uint32_t per_row,
               std::uint32_t per_column);

}  // namespace robustrun::topo
