#pragma once
// Which run a subcommand means.

#include <string>

#include "base/core/result.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {

// `run`: a run's directory, or its id below ./robustrun-runs (or where --compat=torchrun keeps
// them); empty: the newest. Returns the path of its journal. kNotFound.
[[nodiscard]] base::Result<std::string> find_journal(const std::string& run,
                                                     const Surroundings& around);

// What a person means who names none, below ./robustrun-runs.
enum class Pick : std::uint8_t {
  kLiveFirst,     // the newest that goes on; when none does, the newest
  kLive,          // the newest that goes on; kNotFound
  kTheLiveOne,    // and kConflict when several do: another one would be hit by mistake
};

// A run's directory, `run` and errors as above; without a name as `pick` says, and then the name is
// said on stderr. Whether a run goes on is asked of its supervisor.
[[nodiscard]] base::Result<std::string> find_run(const std::string& run, Pick pick,
                                                 const Surroundings& around);

}  // namespace robustrun::cli
