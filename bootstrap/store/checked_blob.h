#pragma once
// Records the SHA-256 of a whole blob in the store, once it was checked: CACHE/blocks/KEY/checked
// (docs/formats/block-store.md). A job that needs this content may then use the blob, whatever its
// source.
//
// The record contains a hash of the blob's block sums. When a sum is cleared or changed, the record
// does not count any more.

#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "bootstrap/store/source_name.h"

namespace robustrun::bootstrap {

// SHA-256 of the list of a blob's sums. All hashes here are in hex.
[[nodiscard]] base::Result<std::string> hash_of_sums(const std::string& cache,
                                                     const std::string& key);
// Records that the blob has the content `sha256`. `sums`: the value that hash_of_sums() had both
// before and after all blocks were read.
base::Status save_checked(const std::string& cache, const std::string& key, std::string_view sha256,
                          std::string_view sums);
// Whether the blob has a record of the content `sha256`, and the record counts.
[[nodiscard]] bool is_checked_blob(const std::string& cache, const std::string& key,
                                   std::string_view sha256);
// A blob with the content `sha256`, all of which is in the store.
[[nodiscard]] std::optional<NamedBlob> find_checked_blob(const std::string& cache,
                                                         std::string_view sha256);

// What the file `checked` says.
struct CheckedBlob {
  std::string sha256;
  std::string sums;
};
[[nodiscard]] std::string checked_text(const CheckedBlob& checked);
// kCorrupt: `text` is not what checked_text() writes.
[[nodiscard]] base::Result<CheckedBlob> parse_checked(std::string_view text);

}  // namespace robustrun::bootstrap
