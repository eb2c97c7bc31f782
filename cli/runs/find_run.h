#pragma once
// Finds the run that a subcommand is about.

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {

// Means the newest run, wherever it was started.
inline constexpr std::string_view kLatest = "latest";

// `run`: a run's directory, its name or id (they differ for submitted jobs and with --run-dir) if
// the run is one of this user's (run_index.h), or `latest`; empty: the newest below
// ./robustrun-runs, or else the newest. The id slurm-JOB means the newest start of this Slurm job
// (run_chain.h). Several runs with an id: the newest. Returns the path of its journal. kNotFound:
// there is no such run.
[[nodiscard]] base::Result<std::string> find_journal(const std::string& run,
                                                     const Surroundings& around);

// Whether a supervisor accepts connections for the run in this directory.
[[nodiscard]] bool is_live(const std::string& run_directory);

// What a command without a RUN means, below ./robustrun-runs, or else among all runs.
enum class Pick : std::uint8_t {
  kLiveFirst,     // the newest active run; without one, the newest run
  kLive,          // the newest active run; kNotFound if there is none
  kTheLiveOne,    // the only active run; kNotFound if there is none, kConflict if several
};

// Returns the directory of `run` (as above) or, if empty, of the run that `pick` selects, whose
// name it then prints on stderr. A run is active if its supervisor accepts connections.
[[nodiscard]] base::Result<std::string> find_run(const std::string& run, Pick pick,
                                                 const Surroundings& around);

}  // namespace robustrun::cli
