#pragma once
// The hosts that a run blames for its failures, over all starts of its Slurm job. Blocking.

#include <string>
#include <vector>

#include "launcher/slurm/avoidance.h"
#include "supervisor/core/status/node_note.h"
#include "supervisor/group/node_history.h"

namespace robustrun::cli {

// The notes about hosts of all starts of the run in `run_directory` (run_chain.h), the oldest
// first, without those that are forgotten in `history`. Journals that cannot be read are
// left out; stderr names them.
[[nodiscard]] std::vector<supervisor::NodeNote> notes_of_chain(
    const std::string& run_directory, const supervisor::NodeHistory& history);

// Pure. The hosts that failed according to `notes`: those surely to blame first; among equals, the
// one with the newest note first. Hosts that passed a full check later, or were only slow, are left
// out.
[[nodiscard]] std::vector<launcher::BlamedHost> blamed_hosts(
    const std::vector<supervisor::NodeNote>& notes);

}  // namespace robustrun::cli
