#pragma once
// The block store's folders and files, except the blocks themselves: texts, access checks and
// locks. Only for this room. store_files.cpp also defines block_store_usage() and collect_blobs()
// of block_store.h.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::bootstrap {

inline constexpr std::size_t kSumBytes = 16;  // of one block in `sums`

// What the file `about` says.
struct StoredAbout {
  std::uint64_t length = 0;
  std::string source;  // one line
};

[[nodiscard]] std::string about_text(const StoredAbout& about);
[[nodiscard]] base::Result<StoredAbout> parse_about(std::string_view text);
[[nodiscard]] base::Result<StoredAbout> read_about(const std::string& cache,
                                                   const std::string& key);

// Creates CACHE/blocks/KEY. The folders `blocks` and KEY must be private.
[[nodiscard]] base::Result<std::string> make_blob_folder(const std::string& cache,
                                                         const std::string& key);
// kPermission: `path` is a link or no folder, belongs to another user, or is open to others. kOs:
// it is missing.
base::Status check_private_folder(const std::string& path);
// Opens a file. kPermission: it is not a regular file, belongs to another user, or others may write
// it. kOs: it is a link, or missing.
[[nodiscard]] base::Result<base::Fd> open_store_file(const std::string& path, int flags);
// Locks the file `about` and writes `text` to it. The blob is not evicted while the descriptor is
// open. Recreates the folder if it was evicted just before. If `marks_use` is false and the file
// already has this text, it is not written, so its modification time stays.
[[nodiscard]] base::Result<base::Fd> claim_blob(const std::string& folder, const std::string& text,
                                                bool marks_use);

}  // namespace robustrun::bootstrap
