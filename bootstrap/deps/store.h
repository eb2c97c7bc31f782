#pragma once
// Snapshots in one user's cache: CACHE/deps/KEY.sqfs, and KEY.about, which says what it is. Blocks
// as long as the cache's file system does.
//
// A snapshot counts when its about file is whole and names the length and the bytes at both ends
// that the file has; it is synced before it gets its name, so that a crash leaves none that
// counts. What is not ours, or open to others, does not count (a worker imports what is in it).
// Whoever uses one holds a lock on its about file and gives it a new time now and then; nobody
// removes it meanwhile.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::bootstrap {

struct Snapshot {
  std::string key;         // 32 hex digits
  std::string id;          // of this building of it, hex
  std::string what;        // for people: what it was made from
  std::uint64_t bytes = 0;
  std::uint64_t sum = 0;   // of all of it
  std::uint64_t ends = 0;  // of its first and last 64 KiB
  std::int64_t made_s = 0;  // Unix time
  bool pinned = false;
  bool operator==(const Snapshot&) const = default;
};

[[nodiscard]] std::string encode_about(const Snapshot& snapshot);
[[nodiscard]] base::Result<Snapshot> decode_about(std::string_view text);  // kCorrupt

[[nodiscard]] std::string snapshot_folder(const std::string& cache);
[[nodiscard]] std::string snapshot_path(const std::string& cache, const std::string& key);
[[nodiscard]] std::string lease_path(const std::string& cache, const std::string& key);
// For the one who builds: not yet a snapshot.
[[nodiscard]] std::string unfinished_path(const std::string& cache, const std::string& key,
                                          const std::string& id);

// Makes the folder; kPermission where it is not private.
base::Status make_snapshot_folder(const std::string& cache);

// Nothing: none that counts.
[[nodiscard]] std::optional<Snapshot> find_snapshot(const std::string& cache,
                                                    const std::string& key);
// Makes the unfinished file a snapshot, with sums and length; removes what other builders of the
// key left unfinished. kOs where the file system is full.
[[nodiscard]] base::Result<Snapshot> finish_snapshot(const std::string& cache, Snapshot snapshot);
// Removes unfinished files of that key: for the holder of its lease.
void remove_unfinished(const std::string& cache, const std::string& key);
// Reads all of it; kCorrupt.
base::Status verify_snapshot(const std::string& cache, const Snapshot& snapshot);

// While it is held, nobody removes the snapshot. An invalid one where locks do not work.
[[nodiscard]] base::Fd hold_snapshot(const std::string& cache, const std::string& key);
// A sign of use, for other machines.
void touch_snapshot(const std::string& cache, const std::string& key);

struct StoredSnapshot {
  Snapshot snapshot;
  std::int64_t used_s = 0;  // Unix time of the last sign of use
  bool in_use = false;
  std::string damage{};  // why it does not count; empty: it does
};
// The last used first.
[[nodiscard]] std::vector<StoredSnapshot> list_snapshots(const std::string& cache,
                                                         std::int64_t now_s);
// False: it is in use.
bool remove_snapshot(const std::string& cache, const StoredSnapshot& stored);

// Removes those that do not count and what was left unfinished for a day; then, the longest
// unused first, those that nobody has used for `unused_s` (0: no limit), and more until at most
// `bytes_max` are left. What is in use stays.
struct SnapshotsRemoved {
  std::vector<StoredSnapshot> removed;
  std::uint64_t bytes_left = 0;
};
SnapshotsRemoved collect_snapshots(const std::string& cache, std::uint64_t bytes_max,
                                   std::int64_t unused_s, std::int64_t now_s);

}  // namespace robustrun::bootstrap
