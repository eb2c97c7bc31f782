#pragma once
// What failures look like, in TOML (docs/faults.md), to the rows that the core compares with. Pure
// but for questions to Surroundings::machine.
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
// a row without a condition, a name twice, more than limits.h allows.
[[nodiscard]] base::Result<std::vector<supervisor::FaultRow>> parse_faults(std::string_view text,
                                                                           const std::string& path);

// configs/faults.toml as it was when this program was built.
[[nodiscard]] std::string_view built_in_faults();

// The rows of --faults, then those of ../share/robustrun/faults.toml beside the program (without
// that file: the built-in ones) whose names --faults does not use.
[[nodiscard]] base::Result<std::vector<supervisor::FaultRow>> plan_faults(
    const Settings& settings, const Surroundings& around);

}  // namespace robustrun::cli
