#pragma once
// Removes shared-memory segments that dead workers of an attempt left in /dev/shm.
//
// A segment is removed only if no process can want it. It must be a regular file directly in the
// directory, with one name, owned by this user, without permissions for group and others (as users
// of shm_open make them, unlike copied files), changed since the attempt began, and neither open
// nor mapped anywhere on the machine. The kernel confirms the last condition by a write lease
// (fcntl F_SETLEASE), which it grants only if no other process has the file open, in any container.
// Blocks for microseconds per segment. Symbolic links are never followed.

#include <string>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::agent {

// `since`: wall time of the attempt's start. Returns the names removed, sorted.
std::vector<std::string> sweep_shm(base::Nanos since, const std::string& directory = "/dev/shm");

}  // namespace robustrun::agent
