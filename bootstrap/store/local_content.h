#pragma once
// The content of a local file or folder as one hash. Reads everything, so it blocks.

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

// SHA-256 in hex of names and bytes, independent of times and location. In folders, files of
// version control, builds and interpreters are skipped, and a link is hashed as its target's path.
// The text of an error is a whole sentence. kLimit: more than kLocalFilesMax, kLocalBytesMax or
// kLocalDepthMax. Others: kNotFound, kOs.
[[nodiscard]] base::Result<std::string> content_hash(const std::string& path,
                                                     ContentBudget& budget);
// SHA-256 in hex of the names and sizes of the files in a folder of wheels, whose names contain
// their versions. If `folder` is a file, its content_hash().
[[nodiscard]] base::Result<std::string> names_hash(const std::string& folder);

}  // namespace robustrun::bootstrap
