#pragma once
// The folder for records and sockets of live runs that only this user may access:
// $XDG_RUNTIME_DIR/robustrun, or /tmp/robustrun-UID, or, where that name is taken,
// /tmp/robustrun-UID-XXXXXX.

#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::base {

// Returns `path` if it does not exist or is a private folder of this user. Otherwise (any local
// user may take a name in /tmp) returns this user's folder PATH-XXXXXX, which is created (0700) if
// it is missing; processes that call this at the same time get the same folder. If the creation
// fails, returns `path`. May take 0.5 s if another user locks the parent folder.
[[nodiscard]] std::string usable_private_name(const std::string& path);

// The path of the folder for live runs; in /tmp by usable_private_name(). `environment`:
// NAME=VALUE, in which XDG_RUNTIME_DIR is looked up. Its value is ignored if it is relative,
// missing, not a folder, or not owned and writable by this user: the end of a login session may
// have removed the folder.
[[nodiscard]] std::string private_base_directory(const std::vector<std::string>& environment);

// Creates the folder (0700) if it is missing; its parent must exist. kPermission: it is not a
// folder, or another user owns or may access it.
Status make_private_directory(const std::string& path);

}  // namespace robustrun::base
