#pragma once
// The last words of a run: the report on stderr, torchrun's error block, --summary-json and our
// own TORCHELASTIC_ERROR_FILE, all made from the journal as `robustrun report` would.

#include <string>
#include <vector>

#include "supervisor/core/report/report.h"
#include "supervisor/run_request.h"

namespace robustrun::supervisor {

// What is said on stderr: torchrun's block when a worker's failure ended the run, and the report if
// it is wanted.
[[nodiscard]] std::string last_words(const std::vector<JournalEntry>& entries, bool with_report,
                                     bool colour, int width);

// Columns of the terminal at stderr; 100 where there is none.
[[nodiscard]] int stderr_width();

// Failures (a full disk, an unreadable journal) are logged; the exit code stays what it was.
void say_farewell(const RunRequest& request, const std::string& journal_path);

}  // namespace robustrun::supervisor
