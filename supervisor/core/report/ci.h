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

// GitHub's workflow commands, one a line: an error for the failure that ended the run, a warning
// for each (of many the first 50) that it recovered from. They name the user's file and line where
// a traceback of the first failing rank shows them; `workspace` (an absolute path; empty: unknown)
// is cut off.
[[nodiscard]] std::string github_annotations(const RunReport& report, std::string_view workspace);

// A test suite with a test case for each attempt. Only the attempt that the run failed with counts
// as failed; one that the run recovered from has its failure as output.
[[nodiscard]] std::string report_junit(const RunReport& report);

}  // namespace robustrun::supervisor
