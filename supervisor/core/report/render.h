#pragma once
// A report as text for a terminal. Pure.
//
// It is written for a reader who is on call at night: first how the run ended and why, then for
// each incident the first rank that failed, its last output, what the recovery took and what was
// done.

#include <cstddef>
#include <string>

#include "supervisor/core/report/report.h"

namespace robustrun::supervisor {

inline constexpr std::size_t kStderrLinesSummary = 10;  // at the end of a run
inline constexpr std::size_t kStderrLinesFull = 50;  // robustrun report

// `width`: columns. `colour`: with ANSI colours. `stderr_lines`: last lines of a failed worker's
// stderr that are shown.
std::string render_report(const RunReport& report, bool colour, int width,
                          std::size_t stderr_lines = kStderrLinesSummary);

}  // namespace robustrun::supervisor
