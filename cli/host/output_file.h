#pragma once
// A file that a command writes for people: a page, a picture, a trace.

#include <string>

#include "base/core/result.h"

namespace robustrun::cli {

// Replaces the file, and reports that on stderr. kInvalidArgument: it cannot be written.
[[nodiscard]] base::Status write_output(const std::string& path, const std::string& bytes);

}  // namespace robustrun::cli
