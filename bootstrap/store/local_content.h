#pragma once
// What a file or folder of this machine holds, as one hash. Reads all of it: blocks.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/core/result.h"

namespace robustrun::bootstrap {

// What several calls may read together.
struct ContentBudget {
  std::size_t files = 0;
  std::uint64_t bytes = 0;
};

// SHA-256 in hex, of names and bytes, neither of times nor of where it lies. Of a folder what
// version control, builds and interpreters leave there does not count, and links count by where
// they lead. Errors, whole sentences: kNotFound; kLimit beyond kLocalFilesMax, kLocalBytesMax or
// kLocalDepthMax.
[[nodiscard]] base::Result<std::string> content_hash(const std::string& path,
                                                     ContentBudget& budget);
// Of the names and sizes of the files in a folder alone: a wheel's name tells its version.
[[nodiscard]] base::Result<std::string> names_hash(const std::string& folder);

}  // namespace robustrun::bootstrap
