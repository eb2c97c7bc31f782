#pragma once
// Converts texts to values of the types of the options table, and values to texts. Pure.
//
// Errors are worded as argparse's ("invalid int value: 'x'"), because people know them and scripts
// look for them.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/clock.h"
#include "cli/options/options_table.h"

namespace robustrun::cli {

// Accepts blanks around and a sign, as Python's int() does.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);
[[nodiscard]] std::optional<double> parse_number(std::string_view text);
// 90 or 1.5 (seconds), 200ms, 90s, 15m, 2h, 1d; not negative, at most kDurationSecondsMax.
[[nodiscard]] std::optional<base::Nanos> parse_duration(std::string_view text);
// torchrun's comma_separated_list: ",," is a literal comma. Empty elements are dropped.
[[nodiscard]] std::vector<std::string> parse_filters(std::string_view text);
[[nodiscard]] std::string filters_text(std::span<const std::string> filters);

// Why `text` is not a value of this option; nullopt if it is one.
[[nodiscard]] std::optional<std::string> value_error(const Option& row, std::string_view text);

// " (did you mean --tee?)" or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view word,
                                       std::span<const std::string> candidates);

// Quotes `text` for a shell if necessary.
[[nodiscard]] std::string shell_quoted(std::string_view text);

}  // namespace robustrun::cli
