#pragma once
// The files and folders that a glob of --checkpoints matches, in open folders, so that a path which
// changes meanwhile cannot lead elsewhere.
//
// * ? and [] match within one name, and no leading dot. A folder whose name is spelled out may be a
// link; what a wildcard matches may not. Blocks as long as the file system does.

#include <string>
#include <vector>

#include "base/io/fd.h"

namespace robustrun::agent {

inline constexpr const char* kAsideFolder = ".robustrun-incomplete";

// One folder with the names that match in it: the kEntriesLookedAt that changed last.
struct GlobFolder {
  base::Fd fd;
  std::string path;  // as the glob writes it; empty: the working directory
  std::vector<std::string> names{};
};

// Folders that cannot be read, and matches that are neither files nor folders of this user (for
// root: of any user), are left out. `directory`: where a relative glob begins.
[[nodiscard]] std::vector<GlobFolder> glob_matches(const std::string& glob,
                                                   const std::string& directory);

}  // namespace robustrun::agent
