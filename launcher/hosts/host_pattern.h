#pragma once
// OpenSSH's patterns for host names ('*' and '?', no brackets). Pure.

#include <string>
#include <string_view>

namespace robustrun::launcher {

// Takes at most time proportional to the product of the lengths.
[[nodiscard]] bool glob_matches(std::string_view pattern, std::string_view text);

[[nodiscard]] std::string lower(std::string_view text);  // ASCII

}  // namespace robustrun::launcher
