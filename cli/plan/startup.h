#pragma once
// Where the workers' environment comes from, and what may be kept from start to start so that the
// next one is faster. Pure.

#include <string>

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "wire/messages/worker_template.h"

namespace robustrun::cli {

// What a value of --cache-dir means; empty: there is no home to keep anything in.
[[nodiscard]] std::string cache_folder(const std::string& asked, const Surroundings& around);

// Sets workers.prefetch, workers.cache_max_gib and workers.cache_directory: --cache-dir, or
// robustrun in $XDG_CACHE_HOME or ~/.cache; without a home nothing is kept. And those of --image
// and its options: an error when they do not go together, or when `is_here` (all workers run on
// this machine) and it lacks the image.
base::Status plan_startup(const Settings& settings, const Surroundings& around, bool is_here,
                          wire::WorkerTemplate& workers);

// The script may be in the image, and in it alone.
[[nodiscard]] bool may_be_container(const Settings& settings);

}  // namespace robustrun::cli
