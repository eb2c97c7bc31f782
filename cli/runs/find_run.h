#pragma once
// Finds the run that a subcommand is about.

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {

// The RUN that means the newest run, wherever it was started.
inline constexpr std::string_view kLatest = "latest";

// Returns the path of a run's journal. `run`: its directory; its name or id (they differ for
// submitted jobs and with --run-dir), if the run is one of this user's (run_index.h); `latest`; or
// empty, which means the newest run below ./robustrun-runs, or else the newest of all. slurm-JOB
// means the newest start of this Slurm job (run_chain.h). If several runs have an id, the newest
// counts. kNotFound: there is no such run.
[[nodiscard]] base::Result<std::string> find_journal(const std::string& run,
                                                     const Surroundings& around);

// Whether a supervisor accepts connections for the run in this directory.
[[nodiscard]] bool is_live(const std::string& run_directory);

// The run that a command without a RUN means: one below ./robustrun-runs, or else one of all runs.
enum class Pick : std::uint8_t {
  kLiveFirst,     // the newest active run; without one, the newest run
  kLive,          // the newest active run; kNotFound if no run is active
  kTheLiveOne,    // the only active run; kNotFound if no run is active, kConflict if several are
};

// Returns the directory of `run` (as for find_journal()). If `run` is empty: of the run that `pick`
// selects, whose name is printed on stderr. A run is active if its supervisor accepts connections.
[[nodiscard]] base::Result<std::string> find_run(const std::string& run, Pick pick,
                                                 const Surroundings& around);

}  // namespace robustrun::cli
