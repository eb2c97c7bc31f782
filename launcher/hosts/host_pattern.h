#pragma once
// Patterns for host names as OpenSSH has them ('*' and '?', no brackets). Pure.

#include <string>
#include <string_view>

namespace robustrun::launcher {

// Linear but for the last star, which alone is tried again.
[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text);

[[nodiscard]] std::string lower(std::string_view text);  // ASCII

}  // namespace robustrun::launcher
