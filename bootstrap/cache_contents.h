#pragma once
// Lists, checks and shrinks the cache of one user, whatever it holds. Calls block.

#include <cstdint>
#include <string>
#include <vector>

#include "bootstrap/store/cache_entry.h"

namespace robustrun::bootstrap {

struct CacheLimits {
  std::uint64_t bytes_max = 0;  // limit for all snapshots together, and as much for all blobs
  std::int64_t unused_s = 0;  // longest time without use; 0: no limit
};

// Entries by kind (profiles by file type), the most recently used first. A missing cache counts as
// empty.
[[nodiscard]] std::vector<CacheEntry> list_cache(const std::string& cache, std::int64_t now_s);
// As list_cache(), but reads all snapshots and blobs and reports what is damaged. Damaged blocks
// are dropped, so that they are fetched again. Code is not read: it is checked before each use.
[[nodiscard]] std::vector<CacheEntry> verify_cache(const std::string& cache, std::int64_t now_s);
// Removes snapshots and blobs that are damaged or beyond the limits, profiles that are damaged or
// beyond `unused_s`, and code beyond `unused_s` or kCodeFoldersKept (store/limits.h). What is in
// use stays. Returns what was removed.
std::vector<CacheEntry> shrink_cache(const std::string& cache, const CacheLimits& limits,
                                     std::int64_t now_s);

}  // namespace robustrun::bootstrap
