#pragma once
// Rows for the runs in their directories: for `robustrun ls` and `rm`. Blocking.

#include "cli/options/surroundings.h"
#include "cli/runs/run_chain.h"
#include "cli/runs/run_index.h"
#include "cli/text/run_table.h"

namespace robustrun::cli {

// Reads the journal and asks whether a supervisor answers. `bytes` stays 0: see bytes_below().
[[nodiscard]] RunRow row_of(const KnownRun& run, const Surroundings& around);

// One row for all starts of a Slurm job: that of the newest start, with incidents and bytes of all,
// and the age of the first.
[[nodiscard]] RunRow row_of(const RunChain& chain, const Surroundings& around);

// The bytes of all files below `folder`; symbolic links are not followed. Stops at 100,000 files.
[[nodiscard]] std::uint64_t bytes_below(const std::string& folder);

}  // namespace robustrun::cli
