#pragma once
// How many processors this process may use, by its affinity (sched_getaffinity(2)) and by the CPU
// quotas of cgroups (cpu.max of v2, cpu.cfs_quota_us of v1).

#include <string>
#include <vector>

namespace robustrun::agent {

// This process's affinity, ascending.
std::vector<unsigned> allowed_cpus();

// How many processors this process can keep busy: the size of its affinity, limited by the CPU
// quotas of its cgroup and of all cgroups above it. At least 1. `root` is put before /sys and
// /proc.
unsigned usable_cpus(const std::string& root = "");

}  // namespace robustrun::agent
