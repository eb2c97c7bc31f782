#pragma once
// How `robustrun doctor` shows its checks. Pure.

#include <span>
#include <string>
#include <string_view>

#include "cli/doctor/checks.h"

namespace robustrun::cli {

// A line per check with its advice below it, then what is absent, then the count of what is not ok.
[[nodiscard]] std::string doctor_text(std::span<const Check> checks, int columns, bool colour);

// {"host": …, "bad": N, "warn": N, "checks": [{"name", "state", "found", "advice"}]}
[[nodiscard]] std::string doctor_json(std::string_view host, std::span<const Check> checks);

[[nodiscard]] std::size_t count_of(std::span<const Check> checks, CheckState state);

}  // namespace robustrun::cli
