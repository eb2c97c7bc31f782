#pragma once
// Time limits as sbatch takes them, and warnings before them. Pure.

#include <chrono>
#include <optional>
#include <string_view>

#include "base/core/clock.h"

namespace robustrun::cli {

// "minutes", "minutes:seconds", "hours:minutes:seconds", "days-hours", "days-hours:minutes" and
// "days-hours:minutes:seconds" (sbatch(1), --time); none for anything else, such as UNLIMITED.
[[nodiscard]] std::optional<std::chrono::seconds> slurm_time(std::string_view text);

// How long before the time limit Slurm is asked to warn, so that `save_within` is left at least: it
// looks at the clock twice a minute.
[[nodiscard]] std::chrono::seconds slurm_warning(base::Nanos save_within);
// It may also warn so much earlier (sbatch(1), --signal).
inline constexpr std::chrono::seconds kSlurmWarningSlack{60};

}  // namespace robustrun::cli
