#pragma once
// A run's report for continuous integration: GitHub's job summary and annotations, and JUnit XML.
// Pure.

#include <string>
#include <string_view>
#include <vector>

#include "supervisor/core/report/report.h"

namespace robustrun::supervisor {

// Markdown for $GITHUB_STEP_SUMMARY: how the run ended, and a table of its incidents.
[[nodiscard]] std::string report_markdown(const RunReport& report);

// GitHub's workflow commands, one a line, for the first 50 failures and the last one: an error for
// the failure that ended the run, a warning for each that the run recovered from. They name the
// user's file and line if a traceback of the first failing rank shows them. `workspace` (an
// absolute path; empty: unknown) is removed from the start of the file's path.
[[nodiscard]] std::string github_annotations(const RunReport& report, std::string_view workspace);

// A test suite with a test case for each attempt. Only the last attempt of a failed run counts as
// failed; an attempt from whose failure the run recovered has that failure as output.
[[nodiscard]] std::string report_junit(const RunReport& report);

}  // namespace robustrun::supervisor
