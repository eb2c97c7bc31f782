#pragma once
// A verdict of the analysis as `robustrun diagnose` shows it. Pure.

#include <string>
#include <vector>

#include "tracer/analysis/verdict.h"

namespace robustrun::cli {

// `notes`: what is missing or was skipped. Ends with a newline.
[[nodiscard]] std::string verdict_text(const tracer::Verdict& verdict,
                                       const std::vector<std::string>& notes);

// One JSON object (docs/formats/diagnosis.md).
[[nodiscard]] std::string verdict_json(const tracer::Verdict& verdict,
                                       const std::vector<std::string>& notes);

}  // namespace robustrun::cli
