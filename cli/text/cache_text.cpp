#include "cli/text/cache_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/core/text.h"
#include "cli/text/amounts.h"

namespace robustrun::cli {
namespace {

using bootstrap::CacheEntry;

constexpr std::size_t kNameShown = 32;

// How much of a blob is present.
std::string share_in_words(const CacheEntry& entry) {
  if (entry.length == 0) return "";
  if (entry.here == entry.length) return "complete";
  return fmt::format("{} of {}", bytes_in_words(entry.here), bytes_in_words(entry.length));
}

std::string state_in_cache(const CacheEntry& entry) {
  if (!entry.damage.empty()) return "damaged: " + base::printable(entry.damage);
  return entry.in_use ? "in use" : "";
}

}  // namespace

std::string cache_text(std::span<const CacheEntry> all, std::int64_t now_s) {
  std::string text;
  std::uint64_t bytes = 0;
  for (const CacheEntry& entry : all) {
    bytes += entry.bytes;
    std::string line = fmt::format(
        "{:<8}  {:<{}}  {:>9}  used {:>6} ago  {}", bootstrap::word_for(entry.kind),
        base::printable(entry.name).substr(0, kNameShown), kNameShown, bytes_in_words(entry.bytes),
        age_in_words(now_s - entry.used_s), base::printable(entry.what));
    for (const std::string& part : {share_in_words(entry), state_in_cache(entry)}) {
      if (!part.empty()) line += "  " + part;
    }
    text += std::string(line, 0, line.find_last_not_of(' ') + 1) + "\n";
  }
  return text + fmt::format("{} in all, {}\n", all.size(), bytes_in_words(bytes));
}

std::string cache_json(const std::string& cache, const char* name,
                       std::span<const CacheEntry> all) {
  using base::json_string;
  std::string list;
  for (const CacheEntry& entry : all) {
    const bool is_blob = entry.kind == bootstrap::CacheKind::kBlob;
    const std::string share =
        is_blob ? fmt::format(R"("here":{},"length":{},)", entry.here, entry.length) : "";
    list += fmt::format(
        R"({}{{"kind":{},"name":{},"what":{},"bytes":{},"made_s":{},"used_s":{},"in_use":{},)"
        R"({}"damage":{}}})",
        list.empty() ? "" : ",", json_string(bootstrap::word_for(entry.kind)),
        json_string(entry.name), json_string(entry.what), entry.bytes, entry.made_s, entry.used_s,
        entry.in_use, share, json_string(entry.damage));
  }
  return fmt::format(R"({{"cache":{},{}:[{}]}})", json_string(cache), json_string(name), list) +
         "\n";
}

}  // namespace robustrun::cli
