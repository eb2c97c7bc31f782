#pragma once
// What may be kept from start to start so that the next one is faster, and where. Pure.

#include "base/core/result.h"
#include "cli/settings.h"
#include "cli/surroundings.h"
#include "wire/worker_template.h"

namespace robustrun::cli {

// Sets workers.prefetch and workers.cache_directory: --cache-dir, or robustrun in $XDG_CACHE_HOME
// or ~/.cache; without a home nothing is kept. And what is staged (absolute paths).
base::Status plan_startup(const Settings& settings, const Surroundings& around,
                          wire::WorkerTemplate& workers);

}  // namespace robustrun::cli
