#pragma once
// What is known of a run from its directory: for `robustrun ls` and `rm`. Blocking.

#include "cli/options/surroundings.h"
#include "cli/runs/run_chain.h"
#include "cli/runs/run_index.h"
#include "cli/text/run_table.h"

namespace robustrun::cli {

// Reads the journal and asks whether a supervisor answers. `bytes` stays 0: see bytes_below().
[[nodiscard]] RunRow row_of(const KnownRun& run, const Surroundings& around);

// One row for all starts of a Slurm job: the newest one's, with incidents and bytes of all, and the
// age of the first. With bytes.
[[nodiscard]] RunRow row_of(const RunChain& chain, const Surroundings& around);

// Of all files below `folder`; symbolic links are not followed. Stops at kFilesCountedMax files.
[[nodiscard]] std::uint64_t bytes_below(const std::string& folder);

}  // namespace robustrun::cli
