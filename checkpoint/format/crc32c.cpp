#include "checkpoint/format/crc32c.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>

#include "checkpoint/format/crc32c_fold.h"
#include "checkpoint/format/crc32c_instruction.h"
#include "checkpoint/format/crc32c_polynomial.h"

namespace robustrun::checkpoint {
namespace {

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

// Copied, then checksummed while still in the cache.
constexpr std::size_t kCachedBytes = 16U << 10U;

}  // namespace

std::uint32_t copy_with_crc32c(std::string_view from, char* to) {
  std::uint32_t crc = 0;
  std::size_t done = 0;
  if (crc32c_can_fold()) {
    done = crc32c_fold_copy(from, to, crc);
  } else if (crc32c_in_hardware()) {
    done = crc32c_copy_by_instruction(from, to, crc);
  }
  from.remove_prefix(done);
  to += done;
  while (!from.empty()) {
    const std::size_t bytes = std::min(from.size(), kCachedBytes);
    std::memcpy(to, from.data(), bytes);
    crc = crc32c({to, bytes}, crc);
    from.remove_prefix(bytes);
    to += bytes;
  }
  return crc;
}

std::uint32_t crc32c(std::string_view bytes, std::uint32_t crc) {
  if (crc32c_can_fold()) bytes.remove_prefix(crc32c_fold(bytes, crc));
  if (crc32c_in_hardware()) return crc32c_by_instruction(bytes, crc);
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
