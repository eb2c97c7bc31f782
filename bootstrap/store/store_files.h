#pragma once
// The block store's folders and files, without the blocks' contents: texts, access checks and
// claims. Only for this room. store_files.cpp also defines block_store_usage() and collect_blobs()
// (block_store.h).

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::bootstrap {

inline constexpr std::size_t kSumBytes = 16;  // of one block in `sums`

struct StoredAbout {
  std::uint64_t length = 0;
  std::string source;  // one line
};

[[nodiscard]] std::string about_text(const StoredAbout& about);
[[nodiscard]] base::Result<StoredAbout> parse_about(std::string_view text);
[[nodiscard]] base::Result<StoredAbout> read_about(const std::string& cache,
                                                   const std::string& key);

// Creates CACHE/blocks/KEY, of which `blocks` and KEY must be private.
[[nodiscard]] base::Result<std::string> make_blob_folder(const std::string& cache,
                                                         const std::string& key);
// Checks that `path` is a folder of this user, not a link, and closed to others; kPermission
// otherwise, kOs if it is missing.
base::Status check_private_folder(const std::string& path);
// Opens a regular file of this user, not a link, that others cannot write; kPermission otherwise,
// but kOs for a link or a missing file.
[[nodiscard]] base::Result<base::Fd> open_store_file(const std::string& path, int flags);
// Writes `about` and locks it: the blob is not evicted while the descriptor is open. Recreates the
// folder if it was evicted just before. Without `marks_use`, an `about` that already has this text
// is left untouched, including its modification time.
[[nodiscard]] base::Result<base::Fd> claim_blob(const std::string& folder, const std::string& text,
                                                bool marks_use);

}  // namespace robustrun::bootstrap
