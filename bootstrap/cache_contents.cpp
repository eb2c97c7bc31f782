#include "bootstrap/cache_contents.h"

#include <sys/stat.h>
#include <unistd.h>

#include "bootstrap/limits.h"
#include "bootstrap/profile_store.h"
#include "bootstrap/snapshot_store.h"

namespace robustrun::bootstrap {
namespace {

CacheEntry entry_of(const StoredSnapshot& stored) {
  return {CacheKind::kSnapshot,   stored.snapshot.key, stored.snapshot.what, stored.snapshot.bytes,
          stored.snapshot.made_s, stored.used_s,       stored.in_use,        stored.damage};
}

CacheEntry profile_entry(const std::string& path) {
  CacheEntry entry;
  entry.kind = CacheKind::kProfile;
  entry.name = path.substr(path.rfind('/') + 1);
  struct stat status{};
  if (::lstat(path.c_str(), &status) == 0) {
    entry.bytes = static_cast<std::uint64_t>(status.st_size);
    entry.made_s = entry.used_s = status.st_mtime;
  }
  if (!is_whole_profile(path)) entry.damage = "it is no profile of ours";
  return entry;
}

}  // namespace

const char* word_for(CacheKind kind) {
  return kind == CacheKind::kSnapshot ? "snapshot" : "profile";
}

std::vector<CacheEntry> list_cache(const std::string& cache, std::int64_t now_s) {
  std::vector<CacheEntry> all;
  for (const StoredSnapshot& stored : list_snapshots(cache, now_s)) {
    all.push_back(entry_of(stored));
  }
  for (const std::string& path : list_profiles(cache)) all.push_back(profile_entry(path));
  return all;
}

std::vector<CacheEntry> verify_cache(const std::string& cache, std::int64_t now_s) {
  std::vector<CacheEntry> all = list_cache(cache, now_s);
  for (CacheEntry& entry : all) {
    if (entry.kind != CacheKind::kSnapshot || !entry.damage.empty()) continue;
    const auto snapshot = find_snapshot(cache, entry.name);
    if (!snapshot) continue;  // it went meanwhile
    if (auto sound = verify_snapshot(cache, *snapshot); !sound) entry.damage = sound.error().what;
  }
  return all;
}

std::vector<CacheEntry> shrink_cache(const std::string& cache, const CacheLimits& limits,
                                     std::int64_t now_s) {
  std::vector<CacheEntry> removed;
  const auto snapshots = collect_snapshots(cache, limits.bytes_max, limits.unused_s, now_s);
  for (const StoredSnapshot& stored : snapshots.removed) removed.push_back(entry_of(stored));
  for (const std::string& path : list_profiles(cache)) {
    CacheEntry entry = profile_entry(path);
    const bool is_old = limits.unused_s > 0 && now_s - entry.used_s > limits.unused_s;
    if ((is_old || !entry.damage.empty()) && ::unlink(path.c_str()) == 0) {
      removed.push_back(std::move(entry));
    }
  }
  return removed;
}

}  // namespace robustrun::bootstrap
