#pragma once
// Host names to addresses, by the system's resolver.

#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::wire {

// Returns the numeric addresses, as text, of `host`: a name or a numeric address. Blocks for as
// long as the resolver does. kNotFound: the resolver failed, for any reason.
[[nodiscard]] base::Result<std::vector<std::string>> look_up(const std::string& host);

}  // namespace robustrun::wire
