#pragma once
// The folders and files of the block store, without what is in the blocks: who may use them, which
// blobs there are, which go first. Used by block_store.cpp alone.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::bootstrap {

inline constexpr std::size_t kSumBytes = 16;  // of one block, in `sums`

struct StoredAbout {
  std::uint64_t length = 0;
  std::string source;  // one line
};

[[nodiscard]] std::string about_text(const StoredAbout& about);
[[nodiscard]] base::Result<StoredAbout> parse_about(std::string_view text);
[[nodiscard]] base::Result<StoredAbout> read_about(const std::string& cache,
                                                   const std::string& key);

// CACHE/blocks/KEY, all of it ours alone.
[[nodiscard]] base::Result<std::string> make_blob_folder(const std::string& cache,
                                                         const std::string& key);
// A folder of ours, not a link, that nobody else may look into; kPermission otherwise. Makes none.
base::Status check_private_folder(const std::string& path);
// A regular file of ours, not a link, that others cannot write; kPermission otherwise.
[[nodiscard]] base::Result<base::Fd> open_store_file(const std::string& path, int flags);
// Writes `about` and locks it: nobody evicts the blob while the descriptor is open. The folder may
// have been evicted just before, then it is made again. Without `marks_use` a file with that text
// is left as it is, and so is its time of change.
[[nodiscard]] base::Result<base::Fd> claim_blob(const std::string& folder, const std::string& text,
                                                bool marks_use);

}  // namespace robustrun::bootstrap
