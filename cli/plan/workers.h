#pragma once
// The launch spec of the workers.

#include "base/core/result.h"
#include "cli/nodes/nodes.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "cli/placement/places.h"
#include "cli/plan/program.h"
#include "wire/messages/worker_template.h"

namespace robustrun::cli {

// Everything but output (plan.cpp), dependencies (deps.h) and code (sync_code.h). Asks
// Surroundings::machine for files; an error is a whole sentence for the user.
[[nodiscard]] base::Result<wire::WorkerTemplate> plan_workers(const Settings& settings,
                                                              const Surroundings& around,
                                                              const Program& program,
                                                              const Places& places,
                                                              const NodesPlan& nodes);

// Where robustrun's Python package is installed, beside the executable.
[[nodiscard]] std::string python_folder(const Surroundings& around);

}  // namespace robustrun::cli
