#pragma once
// What may be kept from start to start so that the next one is faster, and where. Pure.

#include <string>

#include "cli/settings.h"
#include "cli/surroundings.h"
#include "wire/worker_template.h"

namespace robustrun::cli {

// What a value of --cache-dir means; empty: there is no home to keep anything in.
[[nodiscard]] std::string cache_folder(const std::string& asked, const Surroundings& around);

// Sets workers.prefetch and workers.cache_directory: --cache-dir, or robustrun in $XDG_CACHE_HOME
// or ~/.cache; without a home nothing is kept.
void plan_startup(const Settings& settings, const Surroundings& around,
                  wire::WorkerTemplate& workers);

}  // namespace robustrun::cli
