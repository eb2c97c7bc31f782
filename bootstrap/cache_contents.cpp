#include "bootstrap/cache_contents.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <ranges>

#include "bootstrap/deps/store.h"
#include "bootstrap/hot/profile_store.h"
#include "bootstrap/store/block_store.h"
#include "bootstrap/store/code_store.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {
namespace {

CacheEntry entry_of(const StoredSnapshot& stored) {
  const Snapshot& snapshot = stored.snapshot;
  return {.kind = CacheKind::kSnapshot,
          .name = snapshot.key,
          .what = snapshot.what,
          .bytes = snapshot.bytes,
          .made_s = snapshot.made_s,
          .used_s = stored.used_s,
          .in_use = stored.in_use,
          .damage = stored.damage};
}

CacheEntry entry_of(const StoredBlob& stored) {
  return {.kind = CacheKind::kBlob,
          .name = stored.key,
          .what = stored.about,
          .bytes = stored.kept_bytes,
          .used_s = stored.used_s,
          .in_use = stored.is_in_use,
          .damage = stored.damage,
          .here = stored.here_bytes,
          .length = stored.length};
}

CacheEntry entry_of(const StoredCode& stored) {
  return {.kind = CacheKind::kCode,
          .name = stored.key,
          .what = {},
          .bytes = stored.bytes,
          .used_s = stored.used_s,
          .in_use = stored.is_in_use,
          .damage = stored.damage};
}

// Of a store that cannot be looked into.
CacheEntry store_entry(const base::Error& error) {
  CacheEntry entry;
  entry.kind = CacheKind::kBlob;
  entry.name = "blocks";
  entry.damage = error.what;
  return entry;
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

std::string damage_of_snapshot(const std::string& cache, const std::string& key) {
  const auto snapshot = find_snapshot(cache, key);
  if (!snapshot) return "";  // it went meanwhile
  const auto sound = verify_snapshot(cache, *snapshot);
  return sound ? "" : sound.error().what;
}

std::string forget_damaged_blocks(const std::string& cache, const std::string& key) {
  const auto check = verify_blob(cache, key);
  if (!check && check.error().os_errno == ENOENT) return "";  // it went meanwhile
  if (!check) return check.error().what;
  if (check->rotten == 0) return "";
  return fmt::format("{} of {} blocks were wrong, and are forgotten", check->rotten, check->blocks);
}

}  // namespace

const char* word_for(CacheKind kind) {
  switch (kind) {
    case CacheKind::kSnapshot: return "snapshot";
    case CacheKind::kBlob: return "blob";
    case CacheKind::kCode: return "code";
    case CacheKind::kProfile: return "profile";
  }
  return "";
}

std::vector<CacheEntry> list_cache(const std::string& cache, std::int64_t now_s) {
  std::vector<CacheEntry> all;
  for (const StoredSnapshot& stored : list_snapshots(cache, now_s)) {
    all.push_back(entry_of(stored));
  }
  auto blobs = block_store_usage(cache);
  if (!blobs) {
    all.push_back(store_entry(blobs.error()));
  } else {
    for (StoredBlob& stored : *blobs | std::views::reverse) {
      count_here(cache, stored);
      all.push_back(entry_of(stored));
    }
  }
  for (const StoredCode& stored : list_code(cache, now_s)) all.push_back(entry_of(stored));
  for (const std::string& path : list_profiles(cache)) all.push_back(profile_entry(path));
  return all;
}

std::vector<CacheEntry> verify_cache(const std::string& cache, std::int64_t now_s) {
  std::vector<CacheEntry> all = list_cache(cache, now_s);
  for (CacheEntry& entry : all) {
    if (!entry.damage.empty()) continue;
    if (entry.kind == CacheKind::kSnapshot) {
      entry.damage = damage_of_snapshot(cache, entry.name);
    } else if (entry.kind == CacheKind::kBlob) {
      entry.damage = forget_damaged_blocks(cache, entry.name);
    }
  }
  return all;
}

std::vector<CacheEntry> shrink_cache(const std::string& cache, const CacheLimits& limits,
                                     std::int64_t now_s) {
  std::vector<CacheEntry> removed;
  const auto snapshots = collect_snapshots(cache, limits.bytes_max, limits.unused_s, now_s);
  for (const StoredSnapshot& stored : snapshots.removed) removed.push_back(entry_of(stored));
  const auto blobs = collect_blobs(cache, limits.bytes_max, limits.unused_s, now_s);
  for (const StoredBlob& stored : blobs.value_or(std::vector<StoredBlob>())) {
    removed.push_back(entry_of(stored));
  }
  for (const StoredCode& stored : collect_code(cache, limits.unused_s, now_s)) {
    removed.push_back(entry_of(stored));
  }
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
