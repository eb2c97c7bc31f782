#pragma once
// Time limits as sbatch takes them. Pure.

#include <chrono>
#include <optional>
#include <string_view>

namespace robustrun::cli {

// "minutes", "minutes:seconds", "hours:minutes:seconds", "days-hours", "days-hours:minutes" and
// "days-hours:minutes:seconds" (sbatch(1), --time); none for anything else, such as UNLIMITED.
[[nodiscard]] std::optional<std::chrono::seconds> slurm_time(std::string_view text);

}  // namespace robustrun::cli
