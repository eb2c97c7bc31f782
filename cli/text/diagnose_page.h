#pragma once
// A verdict as a self-contained HTML page (`robustrun diagnose --html`): who waits for whom, and
// the evidence. Pure.

#include <string>
#include <vector>

#include "tracer/analysis/verdict.h"

namespace robustrun::cli {

// `about`: the run or the files it is of. `notes`: as of verdict_text().
[[nodiscard]] std::string diagnose_page(const tracer::Verdict& verdict, const std::string& about,
                                        const std::vector<std::string>& notes);

}  // namespace robustrun::cli
