#pragma once
// The rows of the options table, in three files by whose they are; options_table.cpp joins them.

#include <algorithm>
#include <cstdint>
#include <span>

#include "cli/options/options_table.h"

namespace robustrun::cli {

inline constexpr std::int64_t kPortMax = 65535;
inline constexpr std::int64_t kRankMax = 1'000'000;

// Each in the order of OptionId; one after the other they are the whole table.
[[nodiscard]] std::span<const Option> torchrun_rows();
[[nodiscard]] std::span<const Option> own_rows();
[[nodiscard]] std::span<const Option> commands_rows();

// In seconds: a duration is never negative.
constexpr bool times_have_a_least_value(std::span<const Option> rows) {
  return std::ranges::all_of(
      rows, [](const Option& row) { return row.type != Type::kDuration || row.min >= 0; });
}

}  // namespace robustrun::cli
