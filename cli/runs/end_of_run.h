#pragma once
// How a run ended, from its journal.

#include <string>

#include "base/core/result.h"
#include "cli/options/surroundings.h"
#include "supervisor/core/report/report.h"

namespace robustrun::cli {

// The report of the run in `directory`. kNotFound: it has no journal; kOs: the journal cannot be
// read; kCorrupt: it is not a journal, or of another version.
[[nodiscard]] base::Result<supervisor::RunReport> report_of(const std::string& directory);

// Prints on stderr what the run's own command prints at its end; `quiet` as for --quiet. If the
// journal cannot be read, prints only why.
void print_final_report(const std::string& directory, const Surroundings& around, bool quiet);

// "run X succeeded after 12 s, exit code 0"; "… stopped after 3 s, exit code 143: SIGTERM …".
[[nodiscard]] std::string end_in_words(const supervisor::RunReport& report);

}  // namespace robustrun::cli
