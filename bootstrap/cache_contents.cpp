#include "bootstrap/cache_contents.h"

#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <iterator>
#include <ranges>
#include <utility>

#include "bootstrap/deps/store.h"
#include "bootstrap/hot/profile_store.h"
#include "bootstrap/store/block_store.h"
#include "bootstrap/store/code_store.h"
#include "bootstrap/store/limits.h"

namespace robustrun::bootstrap {
namespace {

// The entry of a block store that cannot be read.
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
  if (!is_whole_profile(path)) entry.damage = "not a valid profile";
  return entry;
}

std::string damage_of_snapshot(const std::string& cache, const std::string& key) {
  const auto snapshot = find_snapshot(cache, key);
  if (!snapshot) return "";  // removed meanwhile
  const auto sound = verify_snapshot(cache, *snapshot);
  return sound ? "" : sound.error().what;
}

std::string forget_damaged_blocks(const std::string& cache, const std::string& key) {
  const auto check = verify_blob(cache, key);
  if (!check && check.error().os_errno == ENOENT) return "";  // removed meanwhile
  if (!check) return check.error().what;
  if (check->rotten == 0) return "";
  return fmt::format("{} of {} blocks were damaged and have been dropped", check->rotten,
                     check->blocks);
}

}  // namespace

std::vector<CacheEntry> list_cache(const std::string& cache, std::int64_t now_s) {
  std::vector<CacheEntry> all = list_snapshots(cache, now_s);
  auto blobs = block_store_usage(cache);
  if (!blobs) {
    all.push_back(store_entry(blobs.error()));
  } else {
    for (CacheEntry& blob : *blobs | std::views::reverse) {
      count_here(cache, blob);
      all.push_back(std::move(blob));
    }
  }
  std::ranges::move(list_code(cache, now_s), std::back_inserter(all));
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
  std::vector<CacheEntry> removed =
      collect_snapshots(cache, limits.bytes_max, limits.unused_s, now_s).removed;
  auto blobs = collect_blobs(cache, limits.bytes_max, limits.unused_s, now_s);
  if (blobs) std::ranges::move(*blobs, std::back_inserter(removed));
  std::ranges::move(collect_code(cache, limits.unused_s, now_s), std::back_inserter(removed));
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
