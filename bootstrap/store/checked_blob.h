#pragma once
// Records which blobs of the store are known to have which SHA-256 as a whole:
// CACHE/blocks/KEY/checked (docs/formats/block-store.md).
//
// The record names the block sums for which it was true; when a sum is cleared or changed, it no
// longer counts. So a job that needs this content may use the blob, whatever source it came from.

#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "bootstrap/store/source_name.h"

namespace robustrun::bootstrap {

// SHA-256 of the list of a blob's sums, in hex like all hashes here.
[[nodiscard]] base::Result<std::string> hash_of_sums(const std::string& cache,
                                                     const std::string& key);
// `sums`: the value of hash_of_sums() both before and after all blocks were read and found to
// match.
base::Status save_checked(const std::string& cache, const std::string& key, std::string_view sha256,
                          std::string_view sums);
[[nodiscard]] bool is_checked_blob(const std::string& cache, const std::string& key,
                                   std::string_view sha256);
// A blob with that content, all of which is in the store.
[[nodiscard]] std::optional<NamedBlob> find_checked_blob(const std::string& cache,
                                                         std::string_view sha256);

// The file's text.
struct CheckedBlob {
  std::string sha256;
  std::string sums;
};
[[nodiscard]] std::string checked_text(const CheckedBlob& checked);
// kCorrupt: `text` is not what checked_text() writes.
[[nodiscard]] base::Result<CheckedBlob> parse_checked(std::string_view text);

}  // namespace robustrun::bootstrap
