#pragma once
// Fast non-cryptographic hash (XXH3, 64 bits) for integrity and for signatures of failures.
// Names and trust use SHA-256 from base/io instead.

#include <cstdint>
#include <string_view>

namespace robustrun::base {

std::uint64_t hash64(std::string_view bytes, std::uint64_t seed = 0);

}  // namespace robustrun::base
