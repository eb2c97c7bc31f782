#pragma once
// Names of a run and its folders. plan_places() is pure but for
// questions to Surroundings::machine and makes nothing; make_places() does.
//
// Native: ./robustrun-runs/<name>/{journal,logs/}; with --log-dir=D the logs are in
// D/<id>_<node>_<random>/. Compat leaves nothing in the working directory: its journal is below
// $TMPDIR/robustrun-<uid>/runs/, its logs where torchrun has them.

#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {

struct Places {
  std::string run_name;       // id for people and for `robustrun report`
  std::string elastic_id;     // TORCHELASTIC_RUN_ID
  std::string run_directory;  // absolute
  std::string private_root;   // compat: must be a folder of ours alone; empty: none
  std::string log_directory;  // empty: no files
  std::string log_base;       // --log-dir; made with the user's umask; empty: none
};

// `id`: --rdzv-id or empty.
[[nodiscard]] base::Result<Places> plan_places(const Settings& settings, const Surroundings& around,
                                               const std::string& id, bool standalone,
                                               base::Rng& rng);

[[nodiscard]] base::Status make_places(const Places& places);

// "20260801-101500" in UTC.
[[nodiscard]] std::string time_stamp(base::Nanos wall_time);
// Version 4 of RFC 9562.
[[nodiscard]] std::string random_uuid(base::Rng& rng);

// Folders that hold runs, the first where robustrun makes them: for `robustrun report`.
[[nodiscard]] std::string runs_folder(const Surroundings& around);
[[nodiscard]] std::string private_runs_folder(const Surroundings& around);

// $TMPDIR or /tmp.
[[nodiscard]] std::string temporary_folder(const Surroundings& around);

// What robustrun remembers of a user between runs: robustrun in $XDG_STATE_HOME or ~/.local/state;
// empty where there is no home.
[[nodiscard]] std::string state_folder(const Surroundings& around);

}  // namespace robustrun::cli
