#pragma once
// CRC32C (Castagnoli; RFC 3720 appendix B.4), the checksum of all data in a checkpoint. Computed
// with 512-bit carry-less multiplication (crc32c_fold.h) where the processor has it, otherwise with
// its CRC instruction (crc32c_instruction.h), otherwise with tables. Thread-safe.

#include <cstdint>
#include <string_view>

namespace robustrun::checkpoint {

// Returns the CRC of `bytes`. If `crc` is the CRC of earlier bytes, the result covers these too.
[[nodiscard]] std::uint32_t crc32c(std::string_view bytes, std::uint32_t crc = 0);
// The CRC of A followed by B, given the CRCs of both and the length of B in bytes. Method: zlib's
// crc32_combine (Adler).
[[nodiscard]] std::uint32_t crc32c_joined(std::uint32_t crc_a, std::uint32_t crc_b,
                                          std::uint64_t bytes_b);

// Copies `from` to `to` and returns the CRC of the bytes copied. The ranges must not overlap. Reads
// memory once; on x86 the writes bypass the processor's caches.
std::uint32_t copy_with_crc32c(std::string_view from, char* to);

// crc32c() with tables only, on any processor.
[[nodiscard]] std::uint32_t crc32c_by_table(std::string_view bytes, std::uint32_t crc = 0);

}  // namespace robustrun::checkpoint
