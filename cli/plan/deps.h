#pragma once
// Dependencies that the workers need in addition to the installed ones. Pure but for questions to
// Surroundings::machine.

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "supervisor/run_request.h"

namespace robustrun::cli {

// Sets --deps, --setup-cmd and --deps-ttl in the request's workers, and extends the deadline of a
// start by the time of an installation.
base::Status plan_deps(const Settings& settings, const Surroundings& around,
                       supervisor::RunRequest& request);

}  // namespace robustrun::cli
