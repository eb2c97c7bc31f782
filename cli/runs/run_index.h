#pragma once
// The runs of this user, found from any folder: $XDG_STATE_HOME/robustrun/runs (or
// ~/.local/state/robustrun/runs) holds one symbolic link per run, which leads to its directory.
//
// The index is a convenience. Where there is no home, or the index cannot be written, no run fails;
// runs are then found only below ./robustrun-runs and in the folder of --compat=torchrun.

#include <string>
#include <vector>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {

// The folder of links; empty where there is no home.
[[nodiscard]] std::string index_folder(const Surroundings& around);

// Adds the run in `run_directory` (absolute). Errors are dropped.
void note_run(const Surroundings& around, const std::string& run_directory);

// Removes the run's link, if there is one.
void forget_run(const Surroundings& around, const std::string& run_directory);

struct KnownRun {
  std::string id;  // the last part of `directory`
  std::string directory;  // absolute; it holds a journal
  base::Nanos touched{};  // when the journal was last written, Unix time
};

// All runs that have a journal: below ./robustrun-runs, below the folder of --compat=torchrun, and
// in the index; each directory once, the one with the newest journal first. Links to runs that were
// deleted by hand are removed on the way.
[[nodiscard]] std::vector<KnownRun> known_runs(const Surroundings& around);

}  // namespace robustrun::cli
