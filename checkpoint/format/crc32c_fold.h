#pragma once
// CRC32C by carry-less multiplication of 64 bytes at a time, for processors with AVX-512 and
// VPCLMULQDQ. Copying with it takes no longer than copying alone. Method: Gopal et al., "Fast CRC
// Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Intel, 2009).

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace robustrun::checkpoint {

// Whether this processor can run the functions below.
[[nodiscard]] bool crc32c_can_fold();

// Extends `crc`, the CRC of earlier bytes, by bytes from the front of `bytes`, and returns their
// number; 0 if there are too few for this method. The caller handles the rest.
std::size_t crc32c_fold(std::string_view bytes, std::uint32_t& crc);
// Also copies these bytes to `to`. The writes bypass the processor's caches.
std::size_t crc32c_fold_copy(std::string_view from, char* to, std::uint32_t& crc);

}  // namespace robustrun::checkpoint
