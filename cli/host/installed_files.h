#pragma once
// The files that a host without robustrun needs besides the executable itself.

#include <string>
#include <vector>

namespace robustrun::cli {

// The absolute paths of these files, if they exist below the prefix of `executable`
// (PREFIX/bin/robustrun): the shim, the GPU probe, librobustrun.so, librobustrun_tracer.so and our
// Python package; with `serves_images` also robustrun-blocks, which is large.
[[nodiscard]] std::vector<std::string> installed_files(const std::string& executable,
                                                       bool serves_images);

}  // namespace robustrun::cli
