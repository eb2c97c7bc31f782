#pragma once
// What one worker says it read until its first step (python/robustrun/_record/hot_files.py). Pure.
//
// "robustrun-files 1", then a line each, in the order of the first touch: "read PATH" or "mapped
// PATH" (a library, or a file that was mapped by other means). A worker may write anything: what is
// not of that form is an error, and nobody believes that the files are there.

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

// kCorrupt, or kLimit beyond kTouchedBytesMax or kHotFilesMax.
[[nodiscard]] base::Result<std::vector<TouchedFile>> parse_touched(std::string_view text);

// What several workers of a node read: the first one's order, and behind it what only others read.
// A file that one of them mapped counts as mapped.
[[nodiscard]] std::vector<TouchedFile> join_touched(std::vector<std::vector<TouchedFile>> lists);

}  // namespace robustrun::bootstrap
