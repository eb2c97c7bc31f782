#pragma once
// Which dependencies the workers want beside what is installed, and who installs them. Pure.

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "supervisor/run_request.h"

namespace robustrun::cli {

// --deps, --setup-cmd and --deps-ttl: sets them in the request's workers, and gives a start the
// time of an installation.
base::Status plan_deps(const Settings& settings, const Surroundings& around,
                       supervisor::RunRequest& request);

}  // namespace robustrun::cli
