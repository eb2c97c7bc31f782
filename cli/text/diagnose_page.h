#pragma once
// A verdict as a self-contained HTML page (`robustrun diagnose --html`): which rank waits for
// which, and the evidence. Pure.

#include <string>
#include <vector>

#include "tracer/analysis/verdict.h"

namespace robustrun::cli {

// `about`: names the run or the files. `notes`: what is missing or was skipped.
[[nodiscard]] std::string diagnose_page(const tracer::Verdict& verdict, const std::string& about,
                                        const std::vector<std::string>& notes);

}  // namespace robustrun::cli
