#pragma once
// Versions as programs print them. Pure.

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace robustrun::cli {

struct Release {
  std::uint32_t major_number = 0;
  std::uint32_t minor_number = 0;
  friend auto operator<=>(const Release&, const Release&) = default;
};

// {2, 13} of "2.13.0+cpu", {22, 5} of "22.05.8"; nullopt: `text` does not begin with two numbers.
[[nodiscard]] std::optional<Release> release_of(std::string_view text);

}  // namespace robustrun::cli
