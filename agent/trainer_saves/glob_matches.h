#pragma once
// The files and folders that a glob of --checkpoints matches. Their folders are returned open, so
// that a path that changes meanwhile cannot lead elsewhere.
//
// * ? and [] match within one name, and no leading dot. A folder that the glob names without a
// wildcard may be a symbolic link; matches of a wildcard may not. Blocks as long as the file system
// does.

#include <string>
#include <vector>

#include "base/io/fd.h"

namespace robustrun::agent {

// Holds checkpoints that were moved aside (half_written.h). Never matched.
inline constexpr const char* kAsideFolder = ".robustrun-incomplete";

// One folder and the names in it that match: at most kEntriesLookedAt, the last changed ones.
struct GlobFolder {
  base::Fd fd;
  std::string path;  // as in the glob, ending with /; empty: where a relative glob begins
  std::vector<std::string> names{};
};

// Leaves out folders that cannot be read, and matches that are not files or folders of this user
// (for root: of any user). `directory`: where a relative glob begins.
[[nodiscard]] std::vector<GlobFolder> glob_matches(const std::string& glob,
                                                   const std::string& directory);

}  // namespace robustrun::agent
