#pragma once
// --sync-code: packs a run's code before anything starts. Each node unpacks it in its cache; the
// run's paths into the code are changed to that folder. Reads and writes files.

#include <string>

#include "base/core/result.h"
#include "cli/plan/plan.h"

namespace robustrun::cli {

// Changes working directory, script, dependency file, PYTHONPATH and PWD from `from` to `to`. Both
// are absolute, `from` without links. Returns false if neither the working directory nor the script
// is in `from`.
bool move_code(const std::string& from, const std::string& to, wire::WorkerTemplate& workers);

// Packs RunPlan::sync_code, unless empty, into the run's folder, which must exist.
base::Status sync_code(RunPlan& plan);

}  // namespace robustrun::cli
