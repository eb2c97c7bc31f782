#pragma once
// CRC32C by carry-less products of 64 bytes each, where the processor has them (AVX-512 with
// VPCLMULQDQ): one stream of reads and one of writes, as a plain copy has, and less to compute than
// memory takes to answer. Method: Gopal et al., "Fast CRC Computation for Generic Polynomials
// Using PCLMULQDQ Instruction" (Intel, 2009).

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace robustrun::checkpoint {

[[nodiscard]] bool crc32c_can_fold();

// Takes as many bytes off the front of `bytes` as it is good at, and answers with how many; `crc`
// is that of what came before, and then of these, too. Only if crc32c_can_fold().
std::size_t crc32c_fold(std::string_view bytes, std::uint32_t& crc);
// Copies them to `to`, past the processor's caches.
std::size_t crc32c_fold_copy(std::string_view from, char* to, std::uint32_t& crc);

}  // namespace robustrun::checkpoint
