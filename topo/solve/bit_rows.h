#pragma once
// A square matrix of bits, one row per place, processed in whole words: a few thousand rows of a
// few thousand bits take milliseconds. Pure.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace robustrun::topo {

class BitRows {
 public:
  explicit BitRows(std::size_t size) : words_((size + 63) / 64), bits_(size * words_, 0) {}

  [[nodiscard]] std::span<std::uint64_t> row(std::size_t index) {
    return std::span(bits_).subspan(index * words_, words_);
  }
  [[nodiscard]] std::span<const std::uint64_t> row(std::size_t index) const {
    return std::span(bits_).subspan(index * words_, words_);
  }
  void set(std::size_t row, std::size_t column) {
    bits_[row * words_ + column / 64] |= std::uint64_t{1} << (column % 64);
  }
  void clear(std::size_t row, std::size_t column) {
    bits_[row * words_ + column / 64] &= ~(std::uint64_t{1} << (column % 64));
  }
  [[nodiscard]] bool test(std::size_t row, std::size_t column) const {
    return (bits_[row * words_ + column / 64] >> (column % 64) & 1) != 0;
  }
  // Sets the bit of every pair of `members`, and of each with itself. O(members * row).
  void join(std::span<const std::uint32_t> members) {
    std::vector<std::uint64_t> all(words_, 0);
    for (const std::uint32_t one : members) all[one / 64] |= std::uint64_t{1} << (one % 64);
    for (const std::uint32_t one : members) {
      const auto mine = row(one);
      for (std::size_t w = 0; w < words_; ++w) mine[w] |= all[w];
    }
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace robustrun::topo
