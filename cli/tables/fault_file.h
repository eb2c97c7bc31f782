#pragma once
// Reads the table of known failures from TOML (docs/faults.md), and makes the rows with which the
// core compares failures. Pure, except for questions to Surroundings::machine.
//
//   [[fault]]   name, symptom, exception, text, xid, exit, signal, oom, found,
//               layer, confidence, action, sequel, advice

#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "supervisor/core/types/fault_table.h"

namespace robustrun::cli {

// Errors are "PATH:LINE:COLUMN: what": an unknown key (with the nearest one), a wrong type or word,
// a row without a condition, a repeated name, or a limit of limits.h exceeded.
[[nodiscard]] base::Result<std::vector<supervisor::FaultRow>> parse_faults(std::string_view text,
                                                                           const std::string& path);

// configs/faults.toml at build time.
[[nodiscard]] std::string_view built_in_faults();

// The rows of --faults, then those of share/robustrun/faults.toml in the program's prefix (if
// missing, the built-in ones) with names that --faults does not use.
[[nodiscard]] base::Result<std::vector<supervisor::FaultRow>> plan_faults(
    const Settings& settings, const Surroundings& around);

}  // namespace robustrun::cli
