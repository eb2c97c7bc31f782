#pragma once
// Polynomials over GF(2) modulo CRC32C's generator. Their bits are reflected: bit 31 is the
// coefficient of x^0. For bytes A followed by bytes B, crc(A B) = crc(A) x^(8 |B|) + crc(B).

#include <array>
#include <cstddef>
#include <cstdint>

namespace robustrun::checkpoint {

inline constexpr std::uint32_t kPolynomial = 0x82F63B78;

constexpr std::uint32_t times(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 1U << 31U; bit != 0; bit >>= 1U) {
    if ((a & bit) != 0) product ^= b;
    b = (b & 1U) != 0 ? (b >> 1U) ^ kPolynomial : b >> 1U;
  }
  return product;
}

// x^(2^k) for k = 0..66, by repeated squaring of x, which is bit 30.
inline constexpr auto kPowers = [] {
  std::array<std::uint32_t, 67> powers{};
  powers[0] = 1U << 30U;
  for (std::size_t k = 1; k < powers.size(); ++k) powers[k] = times(powers[k - 1], powers[k - 1]);
  return powers;
}();

// x^(2^first * n)
constexpr std::uint32_t power(std::uint64_t n, std::size_t first = 0) {
  std::uint32_t product = 1U << 31U;
  for (std::size_t k = first; n != 0; ++k, n >>= 1U) {
    if ((n & 1U) != 0) product = times(kPowers[k], product);
  }
  return product;
}

// x^(8 bytes): the factor that moves a CRC `bytes` bytes further from the end.
constexpr std::uint32_t shift_of_bytes(std::uint64_t bytes) { return power(bytes, 3); }

}  // namespace robustrun::checkpoint
