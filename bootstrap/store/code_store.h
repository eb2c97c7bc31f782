#pragma once
// Code copied to this machine: CACHE/code/KEY, unpacked once and shared by jobs and restarts.
// Beside it is KEY.lock, which every process that starts workers there holds. Blocks.
//
// A folder gets its name when it is complete, and is checked before each use: one that a crash tore
// or that was modified is moved aside and made again.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"
#include "bootstrap/store/cache_entry.h"

namespace robustrun::bootstrap {

// The name of code in caches and between nodes, from the SHA-256 of its pack, in hex.
[[nodiscard]] std::string code_key(const std::string& digest);
[[nodiscard]] std::string code_folder(const std::string& cache, const std::string& digest);

// Creates the folder, unless it exists, from the pack in the file `pack`, which must have that
// SHA-256 (kCorrupt). The folder is not removed while the descriptor is open; the descriptor is
// invalid where locks do not work. After creating the folder, removes the longest
// unused ones beyond kCodeFoldersKept.
// `now_s`: Unix time.
[[nodiscard]] base::Result<base::Fd> open_code(const std::string& cache, const std::string& digest,
                                               const std::string& pack, std::int64_t now_s);

// All code in the cache, the most recently used first. Code counts as in use if it is locked, or
// was used so recently that another machine may be using it.
[[nodiscard]] std::vector<CacheEntry> list_code(const std::string& cache, std::int64_t now_s);
// Removes leftovers of crashes and unused code: that not used for `unused_s` (0: no limit), and of
// the rest all but the kCodeFoldersKept most recently used. Returns what was removed, without the
// leftovers.
std::vector<CacheEntry> collect_code(const std::string& cache, std::int64_t unused_s,
                                     std::int64_t now_s);

}  // namespace robustrun::bootstrap
