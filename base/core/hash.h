#pragma once
// Fast non-cryptographic hash (XXH3, 64 or 128 bits) for integrity, for order and lookup, and for
// names of this user's own files. Anything that must withstand forgery uses SHA-256
// (base/io/sha256.h).

#include <cstdint>
#include <string_view>

namespace robustrun::base {

std::uint64_t hash64(std::string_view bytes, std::uint64_t seed = 0);

struct Hash128 {
  std::uint64_t low = 0;
  std::uint64_t high = 0;
  bool operator==(const Hash128&) const = default;
};
Hash128 hash128(std::string_view bytes);

}  // namespace robustrun::base
