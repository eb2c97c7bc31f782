#pragma once
// The folder for records and sockets of live runs that only this user may access:
// $XDG_RUNTIME_DIR/robustrun, or /tmp/robustrun-UID, or, where that name is taken, another one that
// begins so.

#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::base {

// Returns `path` unless a thing is there that this user must not use: any local user may make one
// in /tmp. Then returns this user's folder PATH-XXXXXX, which is created (0700) if there is none;
// processes that do so at the same time get the same one. If that fails, `path`. May take 0.5 s if
// another user locks the folder that holds it.
[[nodiscard]] std::string usable_private_name(const std::string& path);

// The path of that folder; of the one in /tmp, by usable_private_name(). XDG_RUNTIME_DIR is looked
// up in `environment` (NAME=VALUE). A value that is relative, missing, not a folder or not ours is
// ignored: the end of a login session may have removed it.
[[nodiscard]] std::string private_base_directory(const std::vector<std::string>& environment);

// Creates the folder (0700) if it is missing; its parent must exist. kPermission: it is no folder,
// or another user owns it or may access it, so it must not be used.
Status make_private_directory(const std::string& path);

}  // namespace robustrun::base
