#pragma once
// How `robustrun doctor` shows its checks. Pure.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/doctor/checks.h"

namespace robustrun::cli {

// A line per check with its advice below, then the names of absent checks, then the numbers of bad
// checks and warnings.
[[nodiscard]] std::string doctor_text(std::span<const Check> checks, int columns, bool colour);

// "not here: FUSE, munge"; further lines begin below the first name.
[[nodiscard]] std::string titled_list(std::string_view title, const std::vector<std::string>& names,
                                      std::size_t columns);
// The advice as a line below `found`; empty without advice.
[[nodiscard]] std::string advice_lines(const Check& check, std::size_t columns);
// The state's word, padded to the width of its column.
[[nodiscard]] std::string state_column(CheckState state, bool colour);
inline constexpr std::size_t kCheckTextColumn = 24;  // where `found` begins

// {"host": …, "bad": N, "warn": N, "checks": [{"name", "state", "found", "advice"}]}
[[nodiscard]] std::string doctor_json(std::string_view host, std::span<const Check> checks);

[[nodiscard]] std::size_t count_of(std::span<const Check> checks, CheckState state);

}  // namespace robustrun::cli
