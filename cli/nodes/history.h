#pragma once
// Moves hosts that failed earlier runs to the end of a run's hosts. Reads the notes through
// Surroundings::machine; pure otherwise.

#include <string>

#include "base/core/result.h"
#include "cli/nodes/nodes.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {

// The folder of the notes about hosts: `asked`, or for "auto" robustrun/nodes in $XDG_STATE_HOME or
// ~/.local/state. Empty for "off", and without a home directory.
[[nodiscard]] std::string history_folder(const std::string& asked, const Surroundings& around);

// For hosts whose agents are started from here: sets plan.history and plan.offenders, and warns of
// each offender. If more than `working` hosts are named, moves the offenders to the end, except for
// --rank0's host.
void plan_history(const Settings& settings, const Surroundings& around, std::uint32_t working,
                  NodesPlan& plan);

}  // namespace robustrun::cli
