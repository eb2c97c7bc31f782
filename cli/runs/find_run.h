#pragma once
// Which run a subcommand means.

#include <string>
#include <string_view>

#include "base/core/result.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {

// Means the newest run, wherever it was started.
inline constexpr std::string_view kLatest = "latest";

// `run`: a run's directory, the id of a run of this user (run_index.h), or `latest`; empty: the
// newest below ./robustrun-runs, or else the newest. Returns the path of its journal. kNotFound.
[[nodiscard]] base::Result<std::string> find_journal(const std::string& run,
                                                     const Surroundings& around);

// A supervisor takes connections for the run in this directory.
[[nodiscard]] bool is_live(const std::string& run_directory);

// What a command without a RUN means, below ./robustrun-runs, or else among all runs.
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
