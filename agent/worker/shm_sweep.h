#pragma once
// Removes shared-memory segments that dead workers of an attempt left in /dev/shm.
//
// A segment is removed only if no process can want it: a regular file right in the directory with
// one name, of our user, with no permission for group and others (as shm_open users make them,
// unlike files that a person copies there), changed since the attempt began, and open or mapped
// nowhere on the machine. The kernel confirms the last by granting a write lease (fcntl
// F_SETLEASE), which it does only for a file without any other user in any container; no lease, no
// removal. Blocks for microseconds per segment. Symbolic links are never followed.

#include <string>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::agent {

// `since`: wall clock at the start of the attempt. Returns the names removed, sorted.
std::vector<std::string> sweep_shm(base::Nanos since, const std::string& directory = "/dev/shm");

}  // namespace robustrun::agent
