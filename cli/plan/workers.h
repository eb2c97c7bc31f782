#pragma once
// What every worker of the run is started with.

#include "base/core/result.h"
#include "cli/nodes/nodes.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "cli/placement/places.h"
#include "cli/plan/program.h"
#include "wire/messages/worker_template.h"

namespace robustrun::cli {

// All but what belongs to the output (plan_output) and the dependencies (plan_deps.h). Asks
// Surroundings::machine for files; an error is a whole sentence for the user.
[[nodiscard]] base::Result<wire::WorkerTemplate> plan_workers(const Settings& settings,
                                                              const Surroundings& around,
                                                              const Program& program,
                                                              const Places& places,
                                                              const NodesPlan& nodes);

}  // namespace robustrun::cli
