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
  kBlob,  // blocks of an image or a staged file: block_store.h
  kCode,  // of --sync-code: code_store.h
  kProfile,  // of hot files and blocks: profile_store.h
};
[[nodiscard]] const char* word_for(CacheKind kind);

struct CacheEntry {
  CacheKind kind = CacheKind::kSnapshot;
  std::string name;  // its key
  std::string what;  // what it was made from, if that is known
  std::uint64_t bytes = 0;  // that it takes
  std::int64_t made_s = 0;  // Unix times; 0: nobody knows
  std::int64_t used_s = 0;
  bool in_use = false;
  std::string damage{};  // why it does not count; empty: it does
  std::uint64_t here = 0;  // bytes of a blob's blocks
  std::uint64_t length = 0;  // of a whole blob; 0: it is none, or nobody knows
};

struct CacheLimits {
  std::uint64_t bytes_max = 0;  // of all snapshots, and of all blobs
  std::int64_t unused_s = 0;  // 0: no limit
};

// The last used first, kind by kind. A missing cache is an empty one.
[[nodiscard]] std::vector<CacheEntry> list_cache(const std::string& cache, std::int64_t now_s);
// The same with what reading all of it says; blocks that are wrong are forgotten, so that who needs
// them fetches them again. Code is compared with what it was made from before each use, and not
// here.
[[nodiscard]] std::vector<CacheEntry> verify_cache(const std::string& cache, std::int64_t now_s);
// Returns what went; of code what nobody uses goes by its number (limits.h) and its age.
std::vector<CacheEntry> shrink_cache(const std::string& cache, const CacheLimits& limits,
                                     std::int64_t now_s);

}  // namespace robustrun::bootstrap
