#pragma once
// Files that every node is to have a copy of before workers start; and whether nodes pass blocks
// on.

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "wire/messages/worker_template.h"

namespace robustrun::cli {

// Sets workers.stage (absolute paths) and workers.share_blocks; the image and
// workers.cache_directory are known. An error names the option.
base::Status plan_stage(const Settings& settings, const Surroundings& around,
                        wire::WorkerTemplate& workers);

// The folder whose code every node is to have, absolute; empty: none. `is_everybodys`: one command
// starts all nodes.
[[nodiscard]] base::Result<std::string> plan_sync_code(const Settings& settings,
                                                       const Surroundings& around,
                                                       bool is_everybodys);

}  // namespace robustrun::cli
