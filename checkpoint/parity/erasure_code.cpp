#include "checkpoint/parity/erasure_code.h"

#include <algorithm>

#include "base/core/result.h"
#include "checkpoint/parity/galois.h"

namespace robustrun::checkpoint {
namespace {

using GaloisMatrix = std::vector<std::vector<std::uint8_t>>;

// Inverts `matrix` (Gauss-Jordan), which must be invertible.
GaloisMatrix inverse_of(GaloisMatrix matrix) {
  const std::size_t size = matrix.size();
  GaloisMatrix inverse(size, std::vector<std::uint8_t>(size, 0));
  for (std::size_t i = 0; i < size; ++i) inverse[i][i] = 1;
  for (std::size_t pivot = 0; pivot < size; ++pivot) {
    std::size_t with = pivot;
    while (with < size && matrix[with][pivot] == 0) ++with;
    RR_ASSERT(with < size);
    std::swap(matrix[pivot], matrix[with]);
    std::swap(inverse[pivot], inverse[with]);
    const std::uint8_t scale = galois_inverse(matrix[pivot][pivot]);
    for (std::size_t i = 0; i < size; ++i) {
      matrix[pivot][i] = galois_product(matrix[pivot][i], scale);
      inverse[pivot][i] = galois_product(inverse[pivot][i], scale);
    }
    for (std::size_t row = 0; row < size; ++row) {
      const std::uint8_t factor = matrix[row][pivot];
      if (row == pivot || factor == 0) continue;
      for (std::size_t i = 0; i < size; ++i) {
        matrix[row][i] ^= galois_product(factor, matrix[pivot][i]);
        inverse[row][i] ^= galois_product(factor, inverse[pivot][i]);
      }
    }
  }
  return inverse;
}

}  // namespace

std::uint8_t code_coefficient(const CodeShape& shape, std::size_t row, std::size_t column) {
  RR_ASSERT(row < shape.parity && column < shape.data && shape.data + shape.parity <= 255);
  if (shape.parity == 1) return 1;
  return galois_inverse(static_cast<std::uint8_t>((shape.data + row) ^ column));
}

std::vector<std::uint8_t> code_row(const CodeShape& shape, std::size_t row) {
  std::vector<std::uint8_t> coefficients;
  for (std::size_t column = 0; column < shape.data; ++column) {
    coefficients.push_back(code_coefficient(shape, row, column));
  }
  return coefficients;
}

// Each parity member that is used gives an equation: sum over lost columns = parity + sum over
// surviving columns. The row of the inverse for `wanted` solves them.
std::optional<RecoveryPlan> plan_recovery(const CodeShape& shape, const std::vector<bool>& has_data,
                                          const std::vector<bool>& has_parity, std::size_t wanted) {
  RR_ASSERT(has_data.size() == shape.data && has_parity.size() == shape.parity &&
            !has_data[wanted]);
  RecoveryPlan plan;
  std::vector<std::size_t> lost;
  for (std::size_t i = 0; i < shape.data; ++i) (has_data[i] ? plan.columns : lost).push_back(i);
  for (std::size_t i = 0; i < shape.parity && plan.rows.size() < lost.size(); ++i) {
    if (has_parity[i]) plan.rows.push_back(i);
  }
  if (plan.rows.size() < lost.size()) return std::nullopt;
  GaloisMatrix system;
  for (const std::size_t row : plan.rows) {
    auto& line = system.emplace_back();
    for (const std::size_t column : lost) line.push_back(code_coefficient(shape, row, column));
  }
  const auto at = static_cast<std::size_t>(std::ranges::find(lost, wanted) - lost.begin());
  const std::vector<std::uint8_t> solution = inverse_of(std::move(system))[at];
  for (const std::size_t column : plan.columns) {
    std::uint8_t sum = 0;
    for (std::size_t i = 0; i < plan.rows.size(); ++i) {
      sum ^= galois_product(solution[i], code_coefficient(shape, plan.rows[i], column));
    }
    plan.coefficients.push_back(sum);
  }
  plan.coefficients.insert(plan.coefficients.end(), solution.begin(), solution.end());
  return plan;
}

}  // namespace robustrun::checkpoint
