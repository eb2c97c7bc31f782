#pragma once
// What the supervisor needs to reach the nodes of a run: node list, group policy, SSH options,
// leases. Pure.

#include "base/core/result.h"
#include "cli/nodes/nodes.h"
#include "cli/nodes/rendezvous.h"
#include "cli/plan/program.h"
#include "supervisor/run_request.h"

namespace robustrun::cli {

// Sets `network`, `shown_ranks`, `spec.nodes` and `spec.group` of the request; its workers,
// run_directory and spec.run_id must be set. Clears workers.share_blocks if the run has a single
// agent, on this machine, and no other may join.
[[nodiscard]] base::Status plan_network(const Surroundings& around, const NodesPlan& nodes,
                                        const Rendezvous& rendezvous, const Program& program,
                                        supervisor::RunRequest& request);

// SHA-256 (hex) of script and arguments, which all commands of one rendezvous must share unless its
// leader is in compat mode.
[[nodiscard]] std::string command_digest(const wire::WorkerTemplate& workers);

}  // namespace robustrun::cli
