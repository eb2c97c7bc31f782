#pragma once
// A keyed permutation of 0 … size-1 that needs no array: a Feistel network over the smallest power
// of four (at least 4) that is not below `size`, with cycle walking (Black and Rogaway, "Ciphers
// with Arbitrary Finite Domains", 2002). A value takes at most 4 passes on average, of 4 rounds
// each. Not for secrets. Pure.

#include <cstdint>

namespace robustrun::loader {

class Permutation {
 public:
  // `size` is at least 1.
  Permutation(std::uint64_t key, std::uint64_t size);

  // Both take and return values below `size`; inverse(at(i)) is i.
  [[nodiscard]] std::uint64_t at(std::uint64_t index) const;
  [[nodiscard]] std::uint64_t inverse(std::uint64_t value) const;

 private:
  [[nodiscard]] std::uint64_t round(std::uint64_t half, unsigned number) const;

  std::uint64_t key_;
  std::uint64_t size_;
  unsigned half_bits_;
  std::uint64_t half_mask_;
};

// Mixes two numbers into a new key (the finalizer of SplitMix64, Steele et al. 2014).
[[nodiscard]] std::uint64_t mixed_key(std::uint64_t key, std::uint64_t number);

}  // namespace robustrun::loader
