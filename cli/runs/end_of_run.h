#pragma once
// What a run that is over says of itself, from its journal.

#include <string>

#include "base/core/result.h"
#include "cli/options/surroundings.h"
#include "supervisor/core/report/report.h"

namespace robustrun::cli {

// Of a run directory. kNotFound, kPermission, kCorrupt.
[[nodiscard]] base::Result<supervisor::RunReport> report_of(const std::string& directory);

// On stderr, what the run's own command would have said at its end.
void say_last_words(const std::string& directory, const Surroundings& around);

// "run X succeeded after 12 s, exit code 0"; "… stopped after 3 s, exit code 143: SIGTERM …".
[[nodiscard]] std::string end_in_words(const supervisor::RunReport& report);

// Whether stderr gets colour where no option says it.
[[nodiscard]] bool colour_on_stderr(const Surroundings& around);

}  // namespace robustrun::cli
