#pragma once
// From the nodes that the user asked for to what the supervisor needs to reach them: node list,
// group policy, SSH options, leases. Pure.

#include "base/core/result.h"
#include "cli/nodes/nodes.h"
#include "cli/nodes/rendezvous.h"
#include "cli/plan/program.h"
#include "supervisor/run_request.h"

namespace robustrun::cli {

// Fills in `network` of the request and, in its `spec`, nodes and group. Its workers are there.
[[nodiscard]] base::Status plan_network(const Surroundings& around, const NodesPlan& nodes,
                                        const Rendezvous& rendezvous, const Program& program,
                                        supervisor::RunRequest& request);

// What all commands of one rendezvous must have in common: SHA-256 of script and arguments.
[[nodiscard]] std::string command_digest(const wire::WorkerTemplate& workers);

}  // namespace robustrun::cli
