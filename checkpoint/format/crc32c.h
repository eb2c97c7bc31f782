#pragma once
// CRC32C (Castagnoli; RFC 3720 appendix B.4), the checksum of everything in a checkpoint.
//
// Uses carry-less products where the processor has wide ones (crc32c_fold.h), else its CRC
// instruction (crc32c_instruction.h), else slicing by eight tables. Joining two CRCs is a product
// of polynomials modulo the generator (Adler, zlib's crc32_combine). Thread-safe, cannot fail.

#include <cstdint>
#include <string_view>

namespace robustrun::checkpoint {

// The CRC of `bytes`. With `crc`, the CRC of the bytes before them, it is the CRC of both.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t crc = 0);
// The CRC of A followed by B, given the CRCs of both and the length of B in bytes.
[[nodiscard]] std::uint32_t crc32c_joined(std::uint32_t crc_a, std::uint32_t crc_b,
                                          std::uint64_t bytes_b);

// Copies `from` to `to` and returns the CRC of the bytes copied. The ranges must not overlap.
// Memory is read once and written once, bypassing the processor's caches where that works.
std::uint32_t copy_with_crc32c(std::string_view from, char* to);

// crc32c() with tables only, on any processor.
[[nodiscard]] std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t crc = 0);

}  // namespace robustrun::checkpoint
