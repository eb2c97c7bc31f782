#pragma once
// Code that was brought to this machine: CACHE/code/KEY, made once from its pack and shared by jobs
// and restarts. Beside it KEY.lock, held by whoever starts workers there. Blocks.
//
// A folder gets its name when it is complete, and is looked through before each use: one that a
// crash tore, or that somebody changed, is put aside and made anew.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::bootstrap {

// A code's name in caches and between nodes, from the SHA-256 of its pack, in hex.
[[nodiscard]] std::string code_key(const std::string& digest);
[[nodiscard]] std::string code_folder(const std::string& cache, const std::string& digest);

// Makes the folder unless it is there, from the pack in the file `pack`, which must have that
// SHA-256 (kCorrupt). Nobody removes it while the descriptor is open; an invalid one where locks do
// not work. Removes the folders that nobody has used for longest, beyond kCodeFoldersKept. `now_s`:
// Unix time.
[[nodiscard]] base::Result<base::Fd> open_code(const std::string& cache, const std::string& digest,
                                               const std::string& pack, std::int64_t now_s);

struct StoredCode {
  std::string key;
  std::uint64_t bytes = 0;  // of its files
  std::int64_t used_s = 0;  // Unix time of its last start
  bool is_in_use = false;  // by somebody here, or so lately that somebody elsewhere may
  std::string damage{};  // why nobody uses it; empty: they may
};

// The last used first.
[[nodiscard]] std::vector<StoredCode> list_code(const std::string& cache, std::int64_t now_s);
// Removes what crashes left and what nobody uses: those of which nobody has started workers for
// `unused_s` (0: no limit), and of the others all but the kCodeFoldersKept last used. What went,
// less what crashes left.
std::vector<StoredCode> collect_code(const std::string& cache, std::int64_t unused_s,
                                     std::int64_t now_s);

}  // namespace robustrun::bootstrap
