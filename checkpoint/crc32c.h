#pragma once
// CRC32C (Castagnoli; RFC 3720 appendix B.4), the checksum of all that a checkpoint holds.
//
// SSE4.2 where the processor has it (three streams at a time, since one CRC32 instruction waits
// three cycles for the one before), else slicing by eight tables. Joining two CRCs is a product of
// polynomials modulo the generator (Adler, zlib's crc32_combine). Thread-safe, cannot fail.

#include <cstdint>
#include <string_view>

namespace robustrun::checkpoint {

// CRC of `bytes`, or of what `crc` is the CRC of with `bytes` behind it.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t crc = 0);
// CRC of A then B, from both CRCs and the length of B in bytes.
[[nodiscard]] std::uint32_t crc32c_joined(std::uint32_t crc_a, std::uint32_t crc_b,
                                          std::uint64_t bytes_b);

// The same by tables alone, on any processor.
[[nodiscard]] std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t crc = 0);
[[nodiscard]] bool crc32c_in_hardware();

}  // namespace robustrun::checkpoint
