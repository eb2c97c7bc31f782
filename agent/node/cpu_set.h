#pragma once
// A set of processor numbers and its text form in sysfs: "0-3,8". Pure.

#include <set>
#include <string>
#include <string_view>

namespace robustrun::agent {

using CpuSet = std::set<unsigned>;

// Numbers from kCpusMax on and malformed pieces are skipped.
CpuSet parse_cpu_list(std::string_view text);
std::string format_cpu_list(const CpuSet& cpus);

}  // namespace robustrun::agent
