#pragma once
// The environment of this process, for programs that it starts.

#include <string>
#include <string_view>
#include <vector>

namespace robustrun::launcher {

// NAME=VALUE each.
[[nodiscard]] std::vector<std::string> own_environment();
// The value of `name` in a list of NAME=VALUE; empty if the name is missing.
[[nodiscard]] std::string value_of(const std::vector<std::string>& environment,
                                   std::string_view name);

}  // namespace robustrun::launcher
