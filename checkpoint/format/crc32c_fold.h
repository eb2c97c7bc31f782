#pragma once
// CRC32C by carry-less products of 64 bytes each, on processors that have them (AVX-512 with
// VPCLMULQDQ). It has one stream of reads and one of writes, like a plain copy, and computes faster
// than memory answers. Method: Gopal et al., "Fast CRC Computation for Generic Polynomials Using
// PCLMULQDQ Instruction" (Intel, 2009).

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace robustrun::checkpoint {

[[nodiscard]] bool crc32c_can_fold();

// Both functions require crc32c_can_fold(). They add bytes from the front to `crc`, the CRC of the
// bytes before them, and return their number; 0: too few for this method. The caller does the rest.
std::size_t crc32c_fold(std::string_view bytes, std::uint32_t& crc);
// Also copies these bytes to `to`, bypassing the processor's caches.
std::size_t crc32c_fold_copy(std::string_view from, char* to, std::uint32_t& crc);

}  // namespace robustrun::checkpoint
