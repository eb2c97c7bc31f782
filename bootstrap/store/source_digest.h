#pragma once
// Splits URL#sha256=HEX into a source and the digest that its content must have. Pure.
//
// The fragment never reaches a server, and shown_source() leaves it out.

#include <string>
#include <string_view>

#include "base/core/result.h"

namespace robustrun::bootstrap {

struct DigestedSource {
  std::string source;
  std::string sha256;  // 64 lower-case hex digits; empty: not given
};

// kInvalidArgument: the digest is invalid. Only URLs have digests; a path is returned unchanged.
[[nodiscard]] base::Result<DigestedSource> split_digest(std::string_view source);
[[nodiscard]] bool is_sha256(std::string_view text);

}  // namespace robustrun::bootstrap
