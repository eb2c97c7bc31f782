#include "cli/text/amounts.h"

#include <fmt/format.h>

#include <algorithm>

namespace robustrun::cli {

std::string age_in_words(std::int64_t age_s) {
  constexpr std::int64_t kMinute = 60, kHour = 3600, kDay = 86'400;
  age_s = std::max<std::int64_t>(age_s, 0);
  if (age_s < 2 * kMinute) return fmt::format("{} s", age_s);
  if (age_s < 2 * kHour) return fmt::format("{} min", age_s / kMinute);
  if (age_s < 2 * kDay) return fmt::format("{} h", age_s / kHour);
  return fmt::format("{} d", age_s / kDay);
}

std::string bytes_in_words(std::uint64_t bytes) {
  constexpr std::uint64_t kKib = 1024, kMib = kKib * 1024;
  if (bytes < kMib) return fmt::format("{} KiB", (bytes + kKib - 1) / kKib);
  return fmt::format("{} MiB", (bytes + kMib - 1) / kMib);
}

}  // namespace robustrun::cli
