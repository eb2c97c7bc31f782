// Polynomials over GF(2) are kept reflected: bit 31 is the coefficient of x^0. Advancing a CRC over
// n zero bytes multiplies it by x^(8n); so crc(A B) = crc(A) x^(8|B|) + crc(B).

#include "checkpoint/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace robustrun::checkpoint {
namespace {

constexpr std::uint32_t kPolynomial = 0x82F63B78;
constexpr std::size_t kStreamBytes = 4096;  // of each of the three streams

constexpr std::uint32_t times(std::uint32_t a, std::uint32_t b) {
  std::uint32_t product = 0;
  for (std::uint32_t bit = 1U << 31U; bit != 0; bit >>= 1U) {
    if ((a & bit) != 0) product ^= b;
    b = (b & 1U) != 0 ? (b >> 1U) ^ kPolynomial : b >> 1U;
  }
  return product;
}

// x^(2^k) for k = 0..63; squares of x, whose reflection is bit 30.
constexpr auto kPowers = [] {
  std::array<std::uint32_t, 67> powers{};
  powers[0] = 1U << 30U;
  for (std::size_t k = 1; k < powers.size(); ++k) powers[k] = times(powers[k - 1], powers[k - 1]);
  return powers;
}();

constexpr std::uint32_t shift_of_bytes(std::uint64_t bytes) {
  std::uint32_t power = 1U << 31U;
  for (std::size_t k = 3; bytes != 0; ++k, bytes >>= 1U) {
    if ((bytes & 1U) != 0) power = times(kPowers[k], power);
  }
  return power;
}

using Table = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Table kTable = [] {
  Table table{};
  for (std::uint32_t n = 0; n < 256; ++n) {
    std::uint32_t crc = n;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1U) != 0 ? (crc >> 1U) ^ kPolynomial : crc >> 1U;
    table[0][n] = crc;
  }
  for (std::size_t slice = 1; slice < 8; ++slice) {
    for (std::size_t n = 0; n < 256; ++n) {
      const std::uint32_t before = table[slice - 1][n];
      table[slice][n] = (before >> 8U) ^ table[0][before & 0xFFU];
    }
  }
  return table;
}();

#if defined(__x86_64__)
// A product with x^(8 kStreamBytes), byte by byte of the other factor.
constexpr auto kStreamShift = [] {
  std::array<std::array<std::uint32_t, 256>, 4> shift{};
  const std::uint32_t power = shift_of_bytes(kStreamBytes);
  for (std::uint32_t byte = 0; byte < 4; ++byte) {
    for (std::uint32_t n = 0; n < 256; ++n) shift[byte][n] = times(power, n << (8U * byte));
  }
  return shift;
}();

std::uint64_t shifted(std::uint64_t crc) {
  return kStreamShift[0][crc & 0xFFU] ^ kStreamShift[1][crc >> 8U & 0xFFU] ^
         kStreamShift[2][crc >> 16U & 0xFFU] ^ kStreamShift[3][crc >> 24U & 0xFFU];
}

std::uint64_t word_at(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof word);
  return word;
}

__attribute__((target("sse4.2"))) std::uint32_t by_instruction(std::string_view bytes,
                                                               std::uint32_t seed) {
  const char* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t a = ~seed;
  while (left >= 3 * kStreamBytes) {
    std::uint64_t b = 0;
    std::uint64_t c = 0;
    for (std::size_t i = 0; i < kStreamBytes; i += 8) {
      a = _mm_crc32_u64(a, word_at(at + i));
      b = _mm_crc32_u64(b, word_at(at + kStreamBytes + i));
      c = _mm_crc32_u64(c, word_at(at + 2 * kStreamBytes + i));
    }
    a = shifted(shifted(a) ^ b) ^ c;
    at += 3 * kStreamBytes;
    left -= 3 * kStreamBytes;
  }
  for (; left >= 8; at += 8, left -= 8) a = _mm_crc32_u64(a, word_at(at));
  auto crc = static_cast<std::uint32_t>(a);
  for (; left > 0; ++at, --left) crc = _mm_crc32_u8(crc, static_cast<unsigned char>(*at));
  return ~crc;
}
#endif

}  // namespace

bool crc32c_in_hardware() {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("sse4.2") != 0;
  return has;
#else
  return false;
#endif
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t crc) {
#if defined(__x86_64__)
  if (crc32c_in_hardware()) return by_instruction(bytes, crc);
#endif
  return crc32c_by_table(bytes, crc);
}

std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t crc) {
  crc = ~crc;
  std::size_t i = 0;
  const auto byte = [&](std::size_t at) -> std::uint32_t {
    return static_cast<unsigned char>(bytes[at]);
  };
  for (; i + 8 <= bytes.size(); i += 8) {
    const std::uint32_t low =
        crc ^ (byte(i) | byte(i + 1) << 8U | byte(i + 2) << 16U | byte(i + 3) << 24U);
    crc = kTable[7][low & 0xFFU] ^ kTable[6][low >> 8U & 0xFFU] ^ kTable[5][low >> 16U & 0xFFU] ^
          kTable[4][low >> 24U] ^ kTable[3][byte(i + 4)] ^ kTable[2][byte(i + 5)] ^
          kTable[1][byte(i + 6)] ^ kTable[0][byte(i + 7)];
  }
  for (; i < bytes.size(); ++i) crc = (crc >> 8U) ^ kTable[0][(crc ^ byte(i)) & 0xFFU];
  return ~crc;
}

std::uint32_t crc32c_joined(std::uint32_t crc_a, std::uint32_t crc_b, std::uint64_t bytes_b) {
  return times(shift_of_bytes(bytes_b), crc_a) ^ crc_b;
}

}  // namespace robustrun::checkpoint
