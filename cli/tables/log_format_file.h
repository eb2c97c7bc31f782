#pragma once
// Reads the table of known projects' log lines from TOML (docs/metrics.md), for
// --line-metrics=auto. Pure but for questions to Surroundings::machine.
//
//   [[format]]   project, line, step, steps_total, loss, grad_norm, tokens_per_s,
//                tokens_per_s_per_gpu, mfu, mfu_percent, step_time_s, step_time_ms, steps_per_s

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "wire/messages/worker_template.h"

namespace robustrun::cli {

// Errors are "PATH:LINE:COLUMN: what": an unknown key (with the nearest one), a wrong pattern, a
// row without project, line or value, a repeated project, or a limit of limits.h exceeded.
[[nodiscard]] base::Result<std::vector<wire::LineFormat>> parse_log_formats(
    std::string_view text, const std::string& path);

// configs/log_formats.toml at build time.
[[nodiscard]] std::string_view built_in_log_formats();

// The rows of --log-formats, then those of share/robustrun/log_formats.toml in the program's prefix
// (if missing, the built-in ones) for projects that --log-formats does not name.
[[nodiscard]] base::Result<std::vector<wire::LineFormat>> plan_log_formats(
    const Settings& settings, const Surroundings& around);

}  // namespace robustrun::cli
