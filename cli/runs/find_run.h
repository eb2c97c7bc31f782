#pragma once
// Finds the run that a subcommand is about.

#include <string>

#include "base/core/result.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {

// `run`: a run's directory, or its id below ./robustrun-runs (or where --compat=torchrun keeps
// them); empty: the newest. Returns the path of its journal. kNotFound.
[[nodiscard]] base::Result<std::string> find_journal(const std::string& run,
                                                     const Surroundings& around);

// The run that is meant if the user names none, below ./robustrun-runs.
enum class Pick : std::uint8_t {
  kLiveFirst,     // the newest active run; without one, the newest run
  kLive,          // the newest active run; kNotFound
  kTheLiveOne,    // the only active run; kNotFound, kConflict if there are several
};

// Returns the directory of `run` (as above) or, if empty, of the run that `pick` selects, whose
// name it then prints on stderr. A run is active if its supervisor accepts connections.
[[nodiscard]] base::Result<std::string> find_run(const std::string& run, Pick pick,
                                                 const Surroundings& around);

}  // namespace robustrun::cli
