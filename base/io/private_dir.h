#pragma once
// The folder for what only this user may reach while a run lives, records and sockets:
// $XDG_RUNTIME_DIR/robustrun, or /tmp/robustrun-UID.

#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::base {

// Its path; makes nothing. `environment`: NAME=VALUE, where XDG_RUNTIME_DIR is looked for. One
// that is relative, gone, no folder or not ours does not count: a login session may have ended and
// taken it along.
[[nodiscard]] std::string private_base_directory(const std::vector<std::string>& environment);

// Makes the folder, 0700, if it is missing (its parent must be there). kPermission when it is
// somebody else's or open to others: it must not be used then.
Status make_private_directory(const std::string& path);

}  // namespace robustrun::base
