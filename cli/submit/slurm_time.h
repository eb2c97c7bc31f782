#pragma once
// Time limits in sbatch's notation, and warnings before them. Pure.

#include <chrono>
#include <optional>
#include <string_view>

#include "base/core/clock.h"

namespace robustrun::cli {

// "minutes", "minutes:seconds", "hours:minutes:seconds", "days-hours", "days-hours:minutes" and
// "days-hours:minutes:seconds" (sbatch(1), --time); nullopt for anything else, such as UNLIMITED.
[[nodiscard]] std::optional<std::chrono::seconds> slurm_time(std::string_view text);

// How long before the limit Slurm must warn so that at least `save_within` remains: Slurm checks
// only twice a minute.
[[nodiscard]] std::chrono::seconds slurm_warning(base::Nanos save_within);
// Slurm may warn by this much earlier than asked (sbatch(1), --signal).
inline constexpr std::chrono::seconds kSlurmWarningSlack{60};

}  // namespace robustrun::cli
