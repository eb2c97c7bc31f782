#pragma once
// CRC32C (Castagnoli; RFC 3720 appendix B.4), the checksum of all that a checkpoint holds.
//
// Carry-less products where the processor has wide ones (crc32c_fold.h), else SSE4.2's instruction
// (crc32c_instruction.h), else slicing by eight tables. Joining two CRCs is a product of
// polynomials modulo the generator (Adler, zlib's crc32_combine). Thread-safe, cannot fail.

#include <cstdint>
#include <string_view>

namespace robustrun::checkpoint {

// CRC of `bytes`, or of what `crc` is the CRC of with `bytes` behind it.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t crc = 0);
// CRC of A then B, from both CRCs and the length of B in bytes.
[[nodiscard]] std::uint32_t crc32c_joined(std::uint32_t crc_a, std::uint32_t crc_b,
                                          std::uint64_t bytes_b);

// Copies `from` to `to`, which do not overlap, past the processor's caches where it can, and gives
// the CRC of what it copied: memory is read once and written once.
std::uint32_t copy_with_crc32c(std::string_view from, char* to);

// The same by tables alone, on any processor.
[[nodiscard]] std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t crc = 0);

}  // namespace robustrun::checkpoint
