#pragma once
// Remembers which blob a source (a path or URL) had when it was last read: CACHE/blocks/KEY/name
// (docs/formats/block-store.md). Used when the source cannot be reached. The source may have
// changed since then, so once it answers, its content is compared with the key.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/core/result.h"

namespace robustrun::bootstrap {

// `now_ns`: Unix time in nanoseconds. The blob's folder must exist.
base::Status save_source_name(const std::string& cache, const std::string& key,
                              std::string_view source, std::int64_t now_ns);

struct NamedBlob {
  std::string key;
  std::uint64_t length = 0;
  std::int64_t seen_ns = 0;
};
// Returns nullopt if no blob of the store is known to come from this source.
[[nodiscard]] std::optional<NamedBlob> find_named_blob(const std::string& cache,
                                                       std::string_view source);

// What the file `name` says. It has only a hash of the source, because URLs may contain secrets.
struct SourceName {
  std::string source_hash;
  std::int64_t seen_ns = 0;
};
[[nodiscard]] std::string source_name_text(std::string_view source, std::int64_t seen_ns);
// kCorrupt: `text` is not what source_name_text() writes.
[[nodiscard]] base::Result<SourceName> parse_source_name(std::string_view text);

}  // namespace robustrun::bootstrap
