#pragma once
// A report as text for a terminal. Pure.
//
// It is written for a reader who is on call at night: first how the run ended and why, then for
// each incident the first rank that failed, its last output, what the recovery took and what was
// done.

#include <cstdint>
#include <string>

#include "supervisor/core/report/report.h"

namespace robustrun::supervisor {

enum class Detail : std::uint8_t {
  kShort,  // each fact once: at most five lines of a run without incidents, 25 of an incident
  kFull,   // everything that is known (robustrun report -v)
};

struct ReportStyle {
  bool colour = false;  // ANSI colours
  int width = 100;      // columns
  Detail detail = Detail::kShort;
};

std::string render_report(const RunReport& report, const ReportStyle& style);

}  // namespace robustrun::supervisor
