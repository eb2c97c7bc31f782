#include "cli/submit/slurm_time.h"

#include <cstdint>
#include <vector>

#include "base/core/text.h"

namespace robustrun::cli {

std::optional<std::chrono::seconds> slurm_time(std::string_view text) {
  std::int64_t days = 0;
  const std::size_t dash = text.find('-');
  const bool has_days = dash != std::string_view::npos;
  std::vector<std::int64_t> parts;
  for (const std::string_view part : base::split(has_days ? text.substr(dash + 1) : text, ':')) {
    const auto number = base::parse_int<std::uint32_t>(part);
    if (!number) return std::nullopt;
    parts.push_back(*number);
  }
  if (parts.size() > 3) return std::nullopt;
  if (has_days) {
    const auto number = base::parse_int<std::uint32_t>(text.substr(0, dash));
    if (!number) return std::nullopt;
    days = *number;
  }
  // Without days one number is minutes, and two are minutes and seconds.
  if (!has_days && parts.size() < 3) parts.insert(parts.begin(), 0);
  parts.resize(3, 0);
  return std::chrono::seconds(((days * 24 + parts[0]) * 60 + parts[1]) * 60 + parts[2]);
}

std::chrono::seconds slurm_warning(base::Nanos save_within) {
  return std::chrono::ceil<std::chrono::seconds>(save_within) + std::chrono::seconds(60);
}

}  // namespace robustrun::cli
