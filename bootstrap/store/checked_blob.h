#pragma once
// Which blobs of the store are known to have which SHA-256 as a whole: CACHE/blocks/KEY/checked
// (docs/formats/block-store.md).
//
// It says of which sums of blocks that was true: when one is missing, or another one, it says
// nothing any more. So whoever wants that content may take the blob, whatever source it came from.

#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"
#include "bootstrap/store/source_name.h"

namespace robustrun::bootstrap {

// SHA-256, in hex as all here, of the list of a blob's sums.
[[nodiscard]] base::Result<std::string> hash_of_sums(const std::string& cache,
                                                     const std::string& key);
// `sums`: hash_of_sums() before and after all blocks were read, and their bytes had them.
base::Status save_checked(const std::string& cache, const std::string& key, std::string_view sha256,
                          std::string_view sums);
[[nodiscard]] bool is_checked_blob(const std::string& cache, const std::string& key,
                                   std::string_view sha256);
// A blob of that content, all of which is here.
[[nodiscard]] std::optional<NamedBlob> find_checked_blob(const std::string& cache,
                                                         std::string_view sha256);

// The file's text.
struct CheckedBlob {
  std::string sha256;
  std::string sums;
};
[[nodiscard]] std::string checked_text(const CheckedBlob& checked);
// kCorrupt.
[[nodiscard]] base::Result<CheckedBlob> parse_checked(std::string_view text);

}  // namespace robustrun::bootstrap
