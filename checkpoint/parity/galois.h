#pragma once
// Linear combinations of blocks of bytes in GF(2^8) with the polynomial x^8+x^4+x^3+x^2+1 (0x11d),
// for Reed-Solomon codes. Computed by ISA-L (libisal.so.2, loaded on first use), or more slowly
// with tables if that library is not installed. Thread-safe, cannot fail.

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace robustrun::checkpoint {

[[nodiscard]] std::uint8_t galois_product(std::uint8_t a, std::uint8_t b);
// `a` must not be 0.
[[nodiscard]] std::uint8_t galois_inverse(std::uint8_t a);
[[nodiscard]] bool galois_in_hardware();  // whether ISA-L was loaded

// outputs[row] = sum over columns of coefficients[row][column] * input[column], column by column.
class GaloisSum {
 public:
  // `coefficients`: row by row, rows * columns in all. At most 255 rows and 255 columns.
  GaloisSum(std::size_t rows, std::size_t columns, std::vector<std::uint8_t> coefficients);
  // Adds one column's contribution to the outputs, each of which must be as long as `input`: at
  // most 2^31 - 1 bytes.
  void add(std::size_t column, std::string_view input, std::span<char* const> outputs) const;
  // add() with tables only.
  void add_by_table(std::size_t column, std::string_view input,
                    std::span<char* const> outputs) const;

 private:
  std::size_t rows_;
  std::size_t columns_;
  std::vector<std::uint8_t> coefficients_;
  std::vector<std::uint8_t> tables_;  // ISA-L's, 32 bytes for each coefficient
};

}  // namespace robustrun::checkpoint
