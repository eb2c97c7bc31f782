#pragma once
// The files that a host without robustrun needs besides the executable itself.

#include <string>
#include <vector>

namespace robustrun::cli {

// Absolute paths of the shim, the GPU probe, both libraries and our Python package, below the
// prefix of `executable` (PREFIX/bin/robustrun); only those that exist. `serves_images`: and of
// robustrun-blocks, which is large.
[[nodiscard]] std::vector<std::string> installed_files(const std::string& executable,
                                                       bool serves_images);

}  // namespace robustrun::cli
