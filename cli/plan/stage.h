#pragma once
// Files and code that are copied to every node before workers start (--stage, --sync-code), and
// whether nodes pass blocks on to others.

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "wire/messages/worker_template.h"

namespace robustrun::cli {

// Sets workers.stage (absolute paths) and workers.share_blocks; workers.image and
// workers.cache_directory must be set. An error names the option.
base::Status plan_stage(const Settings& settings, const Surroundings& around,
                        wire::WorkerTemplate& workers);

// The absolute path of --sync-code; empty without it. `is_single_command`: one command starts all
// nodes.
[[nodiscard]] base::Result<std::string> plan_sync_code(const Settings& settings,
                                                       const Surroundings& around,
                                                       bool is_single_command);

}  // namespace robustrun::cli
