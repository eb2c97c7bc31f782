#pragma once
// The code of a run, brought to every node (--sync-code): packed here before anything starts, and
// paths that lead into it changed to where each node unpacks it. Reads and writes files.

#include <string>

#include "base/core/result.h"
#include "cli/plan/plan.h"

namespace robustrun::cli {

// What leads into `from` leads into `to` afterwards: working directory, script, file of
// dependencies, PYTHONPATH and PWD. Both absolute, `from` without links. False: neither the working
// directory nor the script is in it.
bool move_code(const std::string& from, const std::string& to, wire::WorkerTemplate& workers);

// Packs RunPlan::sync_code into the run's folder, which is there. Nothing to do where it is empty.
base::Status sync_code(RunPlan& plan);

}  // namespace robustrun::cli
