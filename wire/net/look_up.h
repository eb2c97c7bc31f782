#pragma once
// The name service.

#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::wire {

// The numeric addresses of `host`, a name or a numeric address, as text. Takes as long as the
// resolver. kNotFound.
[[nodiscard]] base::Result<std::vector<std::string>> look_up(const std::string& host);

}  // namespace robustrun::wire
