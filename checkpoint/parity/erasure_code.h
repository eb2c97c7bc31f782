#pragma once
// How parity is computed and how lost data is recovered: systematic Reed-Solomon over GF(2^8)
// (galois.h). Pure.
//
// With one parity member, it is the sum (XOR) of all data. With more, the coefficients form a
// Cauchy matrix: 1 / ((k + row) ^ column) for k columns of data. Every square submatrix of it is
// invertible (J. Blomer and others, "An XOR-based erasure-resilient coding scheme", 1995), so any
// `parity` lost members can be recovered.

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
// All coefficients of a row, for GaloisSum.
[[nodiscard]] std::vector<std::uint8_t> code_row(const CodeShape& shape, std::size_t row);

// How to compute a lost data member: multiply each of these surviving members by its coefficient
// and add the products. `coefficients` has those of `columns`, then those of `rows`.
struct RecoveryPlan {
  std::vector<std::size_t> columns;  // surviving data members that are used
  std::vector<std::size_t> rows;     // parity members that are used
  std::vector<std::uint8_t> coefficients;
};
// Plans the recovery of data member `wanted`. `has_data` and `has_parity` tell which members
// survive. Returns nullopt if too many are lost.
[[nodiscard]] std::optional<RecoveryPlan> plan_recovery(const CodeShape& shape,
                                                        const std::vector<bool>& has_data,
                                                        const std::vector<bool>& has_parity,
                                                        std::size_t wanted);

}  // namespace robustrun::checkpoint
