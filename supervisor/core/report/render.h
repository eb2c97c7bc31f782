#pragma once
// A report as text for a terminal. Pure.
//
// It is written for a reader who is on call at night: first how the run ended and why, then for
// incidents the first rank that failed, its last output, what the recovery took and what was done.

#include <cstdint>
#include <string>

#include "supervisor/core/report/report.h"

namespace robustrun::supervisor {

enum class Detail : std::uint8_t {
  // Each fact once, and only the last incident: mostly five lines of a run without incidents, up to
  // 25 of an incident.
  kShort,
  kFull,  // nearly all that is known (robustrun report -v); the JSON form has all
};

struct ReportStyle {
  bool colour = false;  // ANSI colours
  int width = 100;  // columns
  Detail detail = Detail::kShort;
};

std::string render_report(const RunReport& report, const ReportStyle& style);

}  // namespace robustrun::supervisor
