#pragma once
// A command that the user wrote as one text, as the words of an argument vector. Quotes and
// backslashes work as in a shell; nothing else does, and no shell ever sees it.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::cli {

// At least one word; the error is a cause without a subject.
[[nodiscard]] base::Result<std::vector<std::string>> command_words(std::string_view text);

}  // namespace robustrun::cli
