#pragma once
// The folder for records and sockets of live runs that only this user may access:
// $XDG_RUNTIME_DIR/robustrun, or /tmp/robustrun-UID.

#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::base {

// Returns its path; creates nothing. XDG_RUNTIME_DIR is looked up in `environment` (NAME=VALUE). A
// value that is relative, missing, not a folder or not ours is ignored: the end of a login session
// may have removed it.
[[nodiscard]] std::string private_base_directory(const std::vector<std::string>& environment);

// Creates the folder (0700) if it is missing; its parent must exist. kPermission: another user owns
// the folder or may access it, so it must not be used.
Status make_private_directory(const std::string& path);

}  // namespace robustrun::base
