#pragma once
// Names of machines in short form: "n[1-16],gpu-[007-009],login". Pure.

#include <string>
#include <vector>

namespace robustrun::base {

// Keeps the order of `names`; consecutive names whose last numbers rise by one become a range.
// --hosts accepts the result.
[[nodiscard]] std::string name_ranges(const std::vector<std::string>& names);

}  // namespace robustrun::base
