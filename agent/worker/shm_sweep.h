#pragma once
// Removes shared-memory segments that dead workers of an attempt left in /dev/shm.
//
// A segment goes only if it is certainly nobody's: a regular file right in the directory with one
// name, ours, private to us (no permission for group and others: what shm_open users make, not
// what a person copies there), changed since the attempt began, and open or mapped nowhere on the
// machine. The last is asked of the kernel by a write lease (fcntl F_SETLEASE), which it grants
// only on a file without any other user in any container; no lease, no removal. Blocks for
// microseconds per segment. Symbolic links are never followed.

#include <string>
#include <vector>

#include "base/core/clock.h"

namespace robustrun::agent {

// `since`: wall clock at the start of the attempt. Returns the names removed, sorted.
std::vector<std::string> sweep_shm(base::Nanos since, const std::string& directory = "/dev/shm");

}  // namespace robustrun::agent
