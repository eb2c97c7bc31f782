#pragma once
// The content of a local file or folder as one hash. Reads everything: blocks.

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/core/result.h"

namespace robustrun::bootstrap {

// What several calls have read together; bounded by limits.h.
struct ContentBudget {
  std::size_t files = 0;
  std::uint64_t bytes = 0;
};

// SHA-256 in hex of names and bytes, independent of times and location. In folders, the leftovers
// of version control, builds and interpreters are skipped; links count by their targets. Errors are
// whole sentences: kNotFound; kLimit beyond kLocalFilesMax, kLocalBytesMax or kLocalDepthMax.
[[nodiscard]] base::Result<std::string> content_hash(const std::string& path,
                                                     ContentBudget& budget);
// SHA-256 of only the names and sizes of the files in a folder: a wheel's name has its version.
[[nodiscard]] base::Result<std::string> names_hash(const std::string& folder);

}  // namespace robustrun::bootstrap
