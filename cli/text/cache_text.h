#pragma once
// The content of a cache as `robustrun cache` shows it, as text and as JSON (docs/snapshots.md).
// Pure.

#include <cstdint>
#include <span>
#include <string>

#include "bootstrap/cache_contents.h"

namespace robustrun::cli {

// `now_s`: Unix time, the reference for ages.
[[nodiscard]] std::string cache_text(std::span<const bootstrap::CacheEntry> all,
                                     std::int64_t now_s);
// {"cache": `cache`, `name`: [...]}
[[nodiscard]] std::string cache_json(const std::string& cache, const char* name,
                                     std::span<const bootstrap::CacheEntry> all);

}  // namespace robustrun::cli
