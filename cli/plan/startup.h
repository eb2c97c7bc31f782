#pragma once
// Where the workers' environment comes from (--image), and what is kept for faster starts
// (--cache-dir, --prefetch). Pure but for questions to Surroundings::machine.

#include <string>

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "wire/messages/worker_template.h"

namespace robustrun::cli {

// The folder for a value of --cache-dir; empty: there is no home directory.
[[nodiscard]] std::string cache_folder(const std::string& chosen, const Surroundings& around);

// Sets workers.prefetch, workers.cache_max_gib and workers.cache_directory (--cache-dir, or
// robustrun in $XDG_CACHE_HOME or ~/.cache; without a home directory nothing is kept), and the
// fields of --image and its options. Errors: these options contradict each other, or `is_here` (all
// workers run on this machine) and the image is missing.
base::Status plan_startup(const Settings& settings, const Surroundings& around, bool is_here,
                          wire::WorkerTemplate& workers);

// Whether the script may exist only in the image.
[[nodiscard]] bool may_be_container(const Settings& settings);

}  // namespace robustrun::cli
