#pragma once
// The environment that this process was started with, for programs that it starts.

#include <string>
#include <string_view>
#include <vector>

namespace robustrun::launcher {

// NAME=VALUE each.
[[nodiscard]] std::vector<std::string> own_environment();
// Of one name in such a list; empty when it is not there.
[[nodiscard]] std::string value_of(const std::vector<std::string>& environment,
                                   std::string_view name);

}  // namespace robustrun::launcher
