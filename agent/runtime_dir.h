#pragma once
// The private folder of a run on this node, for records and sockets (decisions.md 4):
// $XDG_RUNTIME_DIR/robustrun or /tmp/robustrun-UID, then one folder per agent.

#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::agent {

// Makes it, 0700. kPermission when a parent is somebody else's or open to others: never used then.
// `environment`: the workers', for XDG_RUNTIME_DIR.
base::Result<std::string> make_runtime_directory(const std::vector<std::string>& environment,
                                                 const std::string& run_id);
// Removes the folder and the files in it (not recursive: it holds plain files and sockets only).
void remove_runtime_directory(const std::string& path);

}  // namespace robustrun::agent
