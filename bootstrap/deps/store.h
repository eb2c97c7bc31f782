#pragma once
// Snapshots in one user's cache: CACHE/deps/KEY.sqfs, and KEY.about, which describes it. Blocks as
// long as the cache's file system does.
//
// A snapshot counts if KEY.about is complete and KEY.sqfs matches it in length and in the hash of
// the bytes at both ends. A snapshot is synced before it gets its name, so a crash leaves no
// incomplete snapshot that counts. Files of other users, or writable by others, do not count,
// because workers import their contents. A process that uses a snapshot holds a lock on KEY.about
// and renews that file's time now and then; the snapshot is not removed meanwhile.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/io/fd.h"
#include "bootstrap/store/cache_entry.h"

namespace robustrun::bootstrap {

struct Snapshot {
  std::string key;  // 32 hex digits
  std::string id;  // hex; of the job that builds the snapshot
  std::string what;  // what the snapshot was made from; only for display
  std::uint64_t bytes = 0;
  std::uint64_t sum = 0;  // hash of the whole file
  std::uint64_t ends = 0;  // hash of the file's first and last 64 KiB
  std::int64_t made_s = 0;  // Unix time
  bool pinned = false;  // equal inputs always give the same environment (inputs.h)
  bool operator==(const Snapshot&) const = default;
};

[[nodiscard]] std::string encode_about(const Snapshot& snapshot);
// kCorrupt: `text` is not what encode_about() writes.
[[nodiscard]] base::Result<Snapshot> decode_about(std::string_view text);

[[nodiscard]] std::string snapshot_folder(const std::string& cache);
[[nodiscard]] std::string snapshot_path(const std::string& cache, const std::string& key);
[[nodiscard]] std::string lease_path(const std::string& cache, const std::string& key);
// Path of a snapshot while job `id` builds it.
[[nodiscard]] std::string unfinished_path(const std::string& cache, const std::string& key,
                                          const std::string& id);

// Creates snapshot_folder(). kPermission: it exists and is not private.
base::Status make_snapshot_folder(const std::string& cache);

// Returns nullopt if there is no snapshot that counts.
[[nodiscard]] std::optional<Snapshot> find_snapshot(const std::string& cache,
                                                    const std::string& key);
// Turns the file at unfinished_path() into a snapshot, and removes the unfinished files of other
// builders of the key. Sets `bytes`, `sum` and `ends`; the caller sets the other members. kOs: a
// system call failed, for instance because the file system is full. kCorrupt: the file became
// shorter meanwhile.
[[nodiscard]] base::Result<Snapshot> finish_snapshot(const std::string& cache, Snapshot snapshot);
// Removes the unfinished files of a key. Only for the holder of the key's lease.
void remove_unfinished(const std::string& cache, const std::string& key);
// Reads the whole snapshot and checks its sum. kCorrupt: it is damaged, missing, or not private.
base::Status verify_snapshot(const std::string& cache, const Snapshot& snapshot);

// Takes a shared lock, which protects the snapshot from removal. Returns an invalid descriptor if
// there is no such snapshot, if another process is checking or removing it at this moment, or if
// locks do not work.
[[nodiscard]] base::Fd hold_snapshot(const std::string& cache, const std::string& key);
// Renews the file's time, as a sign of use for other machines.
void touch_snapshot(const std::string& cache, const std::string& key);

// All snapshots among the folder's first kSnapshotsListedMax files, the most recently used first.
// Snapshots that do not count are listed too, with the cause as `damage`. On a shared file system,
// a snapshot used less than kUsedElsewhereFor ago counts as in use.
[[nodiscard]] std::vector<CacheEntry> list_snapshots(const std::string& cache, std::int64_t now_s);
// Removes a snapshot. Returns false if the snapshot is in use.
bool remove_snapshot(const std::string& cache, const std::string& key);

struct SnapshotsRemoved {
  std::vector<CacheEntry> removed;
  std::uint64_t bytes_left = 0;
};
// Removes files left unfinished for a day, snapshots that do not count, and snapshots not used for
// `unused_s` (0: no limit). Also removes snapshots, the longest unused first, until the rest has at
// most `bytes_max` bytes. Snapshots in use stay.
SnapshotsRemoved collect_snapshots(const std::string& cache, std::uint64_t bytes_max,
                                   std::int64_t unused_s, std::int64_t now_s);

}  // namespace robustrun::bootstrap
