#pragma once
// URL#sha256=HEX: a source, and what its content must be. Pure.
//
// The fragment never reaches a server, and shown_source() leaves it out.

#include <string>
#include <string_view>

#include "base/core/result.h"

namespace robustrun::bootstrap {

struct DigestedSource {
  std::string source;
  std::string sha256;  // 64 lower-case hex digits; empty: none was given
};

// kInvalidArgument: a digest that is none. A path has none, whatever its name is.
[[nodiscard]] base::Result<DigestedSource> split_digest(std::string_view source);
[[nodiscard]] bool is_sha256(std::string_view text);

}  // namespace robustrun::bootstrap
