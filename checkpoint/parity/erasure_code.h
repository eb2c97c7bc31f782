#pragma once
// Which multiples of which data make up parity, and how what is lost is found again: systematic
// Reed-Solomon over GF(2^8) (galois.h). Pure.
//
// One parity: the sum (XOR) of all data. More: coefficients of a Cauchy matrix, 1 / ((k + row) ^
// column) for k columns of data, of which every square part can be inverted (J. Blomer and others,
// "An XOR-based erasure-resilient coding scheme", 1995): any `parity` lost members come back.

#include <cstdint>
#include <optional>
#include <vector>

namespace robustrun::checkpoint {

struct CodeShape {
  std::size_t data = 1;    // columns
  std::size_t parity = 1;  // rows; data + parity <= 255
};

[[nodiscard]] std::uint8_t code_coefficient(const CodeShape& shape, std::size_t row,
                                            std::size_t column);
// All columns of a row, for GaloisSum.
[[nodiscard]] std::vector<std::uint8_t> code_row(const CodeShape& shape, std::size_t row);

// What to multiply the survivors with, in the order of `columns` and then of `rows`, so that their
// sum is the lost data member `wanted`.
struct RecoveryPlan {
  std::vector<std::size_t> columns;  // data members that are there
  std::vector<std::size_t> rows;     // parity members to be used
  std::vector<std::uint8_t> coefficients;
};
// `has_data`, `has_parity`: which are there; data[wanted] is not. None: too many are lost.
[[nodiscard]] std::optional<RecoveryPlan> plan_recovery(const CodeShape& shape,
                                                        const std::vector<bool>& has_data,
                                                        const std::vector<bool>& has_parity,
                                                        std::size_t wanted);

}  // namespace robustrun::checkpoint
