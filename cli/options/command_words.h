#pragma once
// Splits a command that was given as one text into an argument vector. Quotes and backslashes work
// as in a shell; all other characters stand for themselves.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::cli {

// Returns at least one word. The error is a cause without a subject.
[[nodiscard]] base::Result<std::vector<std::string>> command_words(std::string_view text);

}  // namespace robustrun::cli
