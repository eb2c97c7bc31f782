#pragma once
// Code copied to this machine: CACHE/code/KEY, unpacked once and shared by jobs and restarts. Every
// process that starts workers in such a folder holds a lock on KEY.lock beside it. Blocks.
//
// A folder gets its name when it is complete, and is checked before each use. A folder that was
// damaged by a crash or modified is moved aside and made again.

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

// Creates code_folder() from the pack in the file `pack`, unless the folder exists and is sound.
// The folder is not removed while the returned descriptor is open; where locks do not work, the
// descriptor is invalid. After creating the folder, removes the longest unused ones beyond
// kCodeFoldersKept. `now_s`: Unix time. kCorrupt: the pack does not have the SHA-256 `digest`.
[[nodiscard]] base::Result<base::Fd> open_code(const std::string& cache, const std::string& digest,
                                               const std::string& pack, std::int64_t now_s);

// All code in the cache, the most recently used first. Code counts as in use if it is locked, or
// was used less than kCodeUsedElsewhereFor ago, because another machine may be using it.
[[nodiscard]] std::vector<CacheEntry> list_code(const std::string& cache, std::int64_t now_s);
// Removes leftovers of crashes; code not used for `unused_s` (0: no limit); and of the other code
// that is not in use, all but the kCodeFoldersKept most recently used. Returns what was removed,
// without the leftovers.
std::vector<CacheEntry> collect_code(const std::string& cache, std::int64_t unused_s,
                                     std::int64_t now_s);

}  // namespace robustrun::bootstrap
