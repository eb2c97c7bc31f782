#pragma once
// Names of a run and its folders. plan_places() makes nothing and is pure but for questions to
// Surroundings::machine; make_places() makes the folders.
//
// Native: ./robustrun-runs/<name>/{journal,logs/}; with --log-dir=D the logs are in
// D/<id>_<node>_<random>/. Compat leaves nothing in the working directory: the journal is below
// $TMPDIR/robustrun-<uid>/runs/, and the logs are where torchrun has them.

#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {

struct Places {
  std::string run_name;       // the run's id
  std::string elastic_id;     // TORCHELASTIC_RUN_ID
  std::string run_directory;  // absolute
  // of compat mode and `robustrun check`: a folder that no other user can access; empty: none
  std::string private_root;
  std::string log_directory;  // empty: no log files
  std::string log_base;       // --log-dir, made with the user's umask; empty: none
};

// `id`: --rdzv-id, or empty.
[[nodiscard]] base::Result<Places> plan_places(const Settings& settings, const Surroundings& around,
                                               const std::string& id, bool standalone,
                                               base::Rng& rng);

[[nodiscard]] base::Status make_places(const Places& places);

// "20260801-101500" in UTC.
[[nodiscard]] std::string time_stamp(base::Nanos wall_time);
// A UUID of version 4 (RFC 9562).
[[nodiscard]] std::string random_uuid(base::Rng& rng);

// The folders of native runs and of compat runs.
[[nodiscard]] std::string runs_folder(const Surroundings& around);
[[nodiscard]] std::string private_runs_folder(const Surroundings& around);

// $TMPDIR or /tmp.
[[nodiscard]] std::string temporary_folder(const Surroundings& around);

// The folder of what robustrun remembers of a user between runs: `robustrun` in $XDG_STATE_HOME or
// ~/.local/state; empty where there is no home.
[[nodiscard]] std::string state_folder(const Surroundings& around);

}  // namespace robustrun::cli
