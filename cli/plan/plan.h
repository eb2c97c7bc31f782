#pragma once
// Turns merged settings into the plan of a run that is ready to start: checks everything, makes
// nothing.
//
// Pure but for questions to Surroundings. Errors are whole sentences for the user, exit code 2.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "base/io/log.h"
#include "cli/nodes/nodes.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "cli/placement/places.h"
#include "cli/plan/placement.h"
#include "supervisor/run_request.h"

namespace robustrun::cli {

struct RunPlan {
  supervisor::RunRequest request;
  Places places;
  NodesPlan nodes;
  PlacementPlan placement;
  std::string sync_code;  // --sync-code, absolute; empty: the nodes have the code
  std::vector<std::string> warnings;
  std::vector<std::string> notes;  // for the log, at debug level
};

// `argv` goes into the journal, redacted. settings.script must have a value: the empty string in a
// check without a script.
[[nodiscard]] base::Result<RunPlan> plan_run(const Settings& settings,
                                             std::span<const std::string> argv,
                                             const Surroundings& around);

[[nodiscard]] base::LogOptions log_options(const Settings& settings, const Surroundings& around);

// Decides by --colour; for auto, by Surroundings::takes_colour().
[[nodiscard]] bool use_colour(const Settings& settings, const Surroundings& around,
                              bool is_terminal);

// Variables of the caller that workers do not inherit: those that an outer robustrun has set for
// this process as its worker (docs/compat.md), and those of the run's secrets. Variables that
// torchrun sets are overwritten by the agent.
[[nodiscard]] bool is_denied_variable(std::string_view name);

}  // namespace robustrun::cli
