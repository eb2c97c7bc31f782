#pragma once
// What a host without robustrun needs besides the executable itself.

#include <string>
#include <vector>

namespace robustrun::cli {

// Absolute paths of the shim, of both libraries and of our Python package, below the prefix of
// `executable` (PREFIX/bin/robustrun). What is missing is left out.
[[nodiscard]] std::vector<std::string> installed_files(const std::string& executable);

}  // namespace robustrun::cli
