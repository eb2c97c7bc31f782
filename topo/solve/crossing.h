#pragma once
// Whether a matrix can lie below switches so that no row and no column touches many. Internal.
//
// Of a matrix of `rows` times `columns` cells, each of `per_cell` blocks, a switch of size c that
// lies in x rows and y columns holds at most min(c, per_cell * x * y). If no row touches more than
// a switches and no column more than b, the x of all switches sum up to a * rows at most, the y to
// b * columns. For any prices p and q of a row and a column, what all switches hold is then at most
//     p * a * rows + q * b * columns + sum of max over x, y of (min(c, per_cell * x * y) - p x - q
//     y),
// (Lagrange's relaxation). If that is less than the matrix for some prices, it cannot be.

#include <cstdint>
#include <vector>

namespace robustrun::topo {

struct Matrix {
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
  std::uint32_t per_cell = 0;
  [[nodiscard]] std::uint32_t blocks() const { return rows * columns * per_cell; }
};

// False: it is proven that they cannot. `sizes`: of the switches, in blocks.
bool may_cross(const Matrix& matrix, const std::vector<std::uint32_t>& sizes, std::uint32_t per_row,
               std::uint32_t per_column);

}  // namespace robustrun::topo
