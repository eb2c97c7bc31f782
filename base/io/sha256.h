#pragma once
// SHA-256 for names and trust (bundles that are pushed, commands that are compared). libcrypto
// stays behind this header. For fast checks of integrity see base/core/hash.h.

#include <string>
#include <string_view>

#include "base/core/text.h"

namespace robustrun::base {

// 32 raw bytes; to_hex() of base/core/text.h makes them readable.
[[nodiscard]] std::string sha256(std::string_view bytes);

}  // namespace robustrun::base
