#pragma once
// Hosts that failed earlier runs are taken last. Reads the notes through Surroundings::machine;
// pure otherwise.

#include <string>

#include "base/core/result.h"
#include "cli/nodes/nodes.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {

// The folder of the notes: `asked`, or, for "auto", robustrun/nodes in $XDG_STATE_HOME or
// ~/.local/state; empty for "off", and where there is no home.
[[nodiscard]] std::string history_folder(const std::string& asked, const Surroundings& around);

// For hosts that get their agents from here: sets plan.history and plan.offenders, and where more
// than `working` hosts are named, puts the offenders last, whom they are said of in a warning.
void plan_history(const Settings& settings, const Surroundings& around, std::uint32_t working,
                  NodesPlan& plan);

}  // namespace robustrun::cli
