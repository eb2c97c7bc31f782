#pragma once
// The output of a run at its end: the report on stderr, torchrun's error block, --summary-json,
// --summary-junit, GitHub's summary and annotations, and our own TORCHELASTIC_ERROR_FILE. All are
// made from the journal, as `robustrun report` is.

#include <string>
#include <vector>

#include "supervisor/core/report/render.h"
#include "supervisor/core/report/report.h"
#include "supervisor/run_request.h"

namespace robustrun::supervisor {

// What a run prints at its end, and how.
struct FinalReport {
  bool child_failed = false;  // torchrun's error block, if a worker's failure ended the run
  bool report = true;
  ReportStyle style;
};
// The text for stderr.
[[nodiscard]] std::string final_report(const std::vector<JournalEntry>& entries,
                                       const FinalReport& parts);

// Columns of the terminal at stderr; 100 without a terminal, or if it has fewer than 40.
[[nodiscard]] int stderr_width();

// Writes and prints everything that `request` asks for. Failures (a full disk) are logged and do
// not change the exit code.
void write_final_report(const RunRequest& request, const std::vector<JournalEntry>& entries);

}  // namespace robustrun::supervisor
