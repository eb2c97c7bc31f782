#pragma once
// Names of machines in few words: "n[1-16],gpu-[007-009],login". Pure.

#include <string>
#include <vector>

namespace robustrun::cli {

// In the order given: names that follow each other and differ by one in their last number make up a
// range. What --hosts takes.
[[nodiscard]] std::string name_ranges(const std::vector<std::string>& names);

}  // namespace robustrun::cli
