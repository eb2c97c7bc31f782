#include "cli/doctor/versions.h"

#include "base/core/text.h"

namespace robustrun::cli {

std::optional<Release> release_of(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789";
  const auto dot = text.find('.');
  if (dot == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(dot + 1);
  const auto first = base::parse_int<std::uint32_t>(text.substr(0, dot));
  const auto second =
      base::parse_int<std::uint32_t>(rest.substr(0, rest.find_first_not_of(kDigits)));
  if (!first || !second) return std::nullopt;
  return Release{*first, *second};
}

}  // namespace robustrun::cli
