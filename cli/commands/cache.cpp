#include <algorithm>
#include <chrono>

#include "base/core/text.h"
#include "bootstrap/cache_contents.h"
#include "bootstrap/deps/place.h"
#include "bootstrap/store/limits.h"
#include "cli/commands/commands.h"
#include "cli/options/help_text.h"
#include "cli/options/limits.h"
#include "cli/options/parser.h"
#include "cli/options/values.h"
#include "cli/plan/startup.h"
#include "cli/text/cache_text.h"
#include "supervisor/core/types/exit_code.h"

namespace robustrun::cli {
namespace {

using bootstrap::CacheEntry;

int show_cache(const CacheLine& line, const std::string& cache, std::int64_t now_s) {
  const bool verifies = line.verb == "verify";
  const auto all =
      verifies ? bootstrap::verify_cache(cache, now_s) : bootstrap::list_cache(cache, now_s);
  print(line.json ? cache_json(cache, "entries", all) : cache_text(all, now_s));
  const bool sound =
      std::ranges::all_of(all, [](const CacheEntry& entry) { return entry.damage.empty(); });
  return !verifies || sound ? supervisor::kExitSuccess : supervisor::kExitFailure;
}

// --max, else the limit that runs have.
base::Result<std::uint64_t> cache_bytes_max(const CacheLine& line, const Surroundings& around) {
  constexpr double kGib = 1U << 30U;
  if (line.most_gib) return static_cast<std::uint64_t>(*line.most_gib * kGib);
  const auto given = around.variable("ROBUSTRUN_CACHE_MAX");
  if (!given) return bootstrap::kCacheBytesMax;
  const auto gib = base::parse_int<std::int64_t>(*given);
  if (!gib || *gib < 0 || *gib > kCacheMaxGib) {
    return base::fail(base::Errc::kInvalidArgument,
                      "variable ROBUSTRUN_CACHE_MAX: not a number of GiB: '" + *given + "'");
  }
  return *gib > 0 ? static_cast<std::uint64_t>(*gib) << 30U : bootstrap::kCacheBytesMax;
}

bool is_within(std::span<const CacheEntry> all, const bootstrap::CacheLimits& limits) {
  using bootstrap::CacheKind;
  std::uint64_t snapshots = 0;
  std::uint64_t blobs = 0;
  for (const CacheEntry& entry : all) {
    if (!entry.damage.empty()) return false;
    if (entry.kind == CacheKind::kSnapshot) snapshots += entry.bytes;
    if (entry.kind == CacheKind::kBlob) blobs += entry.bytes;
  }
  return std::max(snapshots, blobs) <= limits.bytes_max;
}

int collect_cache(const CacheLine& line, const std::string& cache, const Surroundings& around,
                  std::int64_t now_s) {
  const auto bytes_max = cache_bytes_max(line, around);
  if (!bytes_max) return complain_of_usage(around, "cache", bytes_max.error().what);
  bootstrap::CacheLimits limits{*bytes_max, 0};
  if (line.unused) {
    const auto time = parse_duration(*line.unused);
    if (!time || *time <= base::Nanos::zero()) {
      return complain_of_usage(
          around, "cache",
          fmt::format("argument --unused: invalid time: '{}' (seconds, or 90s, 15m, 2h, 1d)",
                      *line.unused));
    }
    limits.unused_s = std::chrono::duration_cast<std::chrono::seconds>(*time).count();
  }
  const auto removed = bootstrap::shrink_cache(cache, limits, now_s);
  bootstrap::remove_unused_places(bootstrap::places_folder(around.environment), "");
  print(line.json ? cache_json(cache, "removed", removed) : cache_text(removed, now_s));
  if (is_within(bootstrap::list_cache(cache, now_s), limits)) return supervisor::kExitSuccess;
  say("the rest is in use, or cannot be removed");
  return supervisor::kExitFailure;
}

}  // namespace

int cache_command(std::span<const std::string> argv, const Surroundings& around) {
  const auto line = parse_cache_line(argv);
  if (!line) return complain_of_usage(around, "cache", line.error().what);
  if (line->help) {
    print(command_help("cache", terminal_columns(around)));
    return supervisor::kExitSuccess;
  }
  const std::string chosen =
      line->cache_dir.value_or(around.variable("ROBUSTRUN_CACHE_DIR").value_or("auto"));
  const std::string cache = cache_folder(chosen, around);
  if (cache.empty()) {
    return complain(base::Error{base::Errc::kNotFound, 0,
                                "cannot find the cache: HOME is not set; name its folder with "
                                "--cache-dir"});
  }
  const std::int64_t now_s =
      std::chrono::duration_cast<std::chrono::seconds>(around.wall_time).count();
  return line->verb == "gc" ? collect_cache(*line, cache, around, now_s)
                            : show_cache(*line, cache, now_s);
}

}  // namespace robustrun::cli
