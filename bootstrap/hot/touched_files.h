#pragma once
// Parses the list of files that a worker read before its first step
// (python/robustrun/_progress/hot_files.py). Pure.
//
// The first line is "robustrun-files 1". Then follows one line per file, in the order of the first
// touch: "read PATH" or "mapped PATH" (a library, or a file mapped by other means). A worker may
// write anything: a malformed list is an error, and the files need not exist.

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"

namespace robustrun::bootstrap {

struct TouchedFile {
  std::string path;  // absolute
  bool mapped = false;
  bool operator==(const TouchedFile&) const = default;
};

// kCorrupt: malformed. kLimit: more than kTouchedBytesMax or kHotFilesMax.
[[nodiscard]] base::Result<std::vector<TouchedFile>> parse_touched(std::string_view text);

// Joins the lists of a node's workers: the first list, then the files that only later lists have,
// at most kHotFilesMax in all. A file that any worker mapped counts as mapped.
[[nodiscard]] std::vector<TouchedFile> join_touched(std::vector<std::vector<TouchedFile>> lists);

}  // namespace robustrun::bootstrap
