#pragma once
// A report as text for a terminal. Pure.
//
// The most important comes first: how the run ended and why, then for incidents the first rank that
// failed, its last output, what was done, and how long the recovery took.

#include <cstdint>
#include <string>

#include "supervisor/core/report/report.h"

namespace robustrun::supervisor {

enum class Detail : std::uint8_t {
  // Each fact once, and at most the last incident in full: mostly five lines for a run without
  // incidents, and up to 25 for an incident.
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
