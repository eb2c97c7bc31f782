#pragma once
// All that a cache of one user holds, whatever its kind, for people: listed, checked, made smaller.
// Blocks.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"

namespace robustrun::bootstrap {

enum class CacheKind : std::uint8_t {
  kSnapshot,  // of dependencies: snapshot_store.h
  kProfile,  // of hot files: profile_store.h
};
[[nodiscard]] const char* word_for(CacheKind kind);

struct CacheEntry {
  CacheKind kind = CacheKind::kSnapshot;
  std::string name;  // its key
  std::string what;  // what it was made from, if that is known
  std::uint64_t bytes = 0;
  std::int64_t made_s = 0;  // Unix times
  std::int64_t used_s = 0;
  bool in_use = false;
  std::string damage;  // why it does not count; empty: it does
};

struct CacheLimits {
  std::uint64_t bytes_max = 0;  // of all snapshots
  std::int64_t unused_s = 0;  // 0: no limit
};

// The last used first, kind by kind. A missing cache is an empty one.
[[nodiscard]] std::vector<CacheEntry> list_cache(const std::string& cache, std::int64_t now_s);
// The same with what reading all of it says.
[[nodiscard]] std::vector<CacheEntry> verify_cache(const std::string& cache, std::int64_t now_s);
// Returns what went.
std::vector<CacheEntry> shrink_cache(const std::string& cache, const CacheLimits& limits,
                                     std::int64_t now_s);

}  // namespace robustrun::bootstrap
