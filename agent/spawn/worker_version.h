#pragma once
// Applies another version of the run (`robustrun update`) to this node's workers.

#include <optional>

#include "agent/node/node_context.h"
#include "agent/node/worker_home.h"
#include "base/core/result.h"
#include "wire/messages/orders.h"

namespace robustrun::agent {

// `workers` with the version's program, arguments and variables. Pure.
[[nodiscard]] wire::WorkerTemplate with_version(wire::WorkerTemplate workers,
                                                const wire::WorkerVersion& version);

// The template with which workers of `version` start here (nullopt: of the version with which the
// run began). A snapshot's packages come before the workers' own. Pure.
[[nodiscard]] wire::WorkerTemplate workers_of(const NodeContext& node,
                                              const std::optional<wire::WorkerVersion>& version);

// Fails if this machine does not see the version's code exactly as it was handed in. Reads and
// hashes all of the code: blocks.
[[nodiscard]] base::Status check_version(const wire::WorkerVersion& version);

// Fails if workers of `version` cannot start here: check_version() or check_program() fails, or
// `own_command` (NodeContext) forbids another version (kPermission). Blocks.
[[nodiscard]] base::Status check_start(const wire::WorkerTemplate& workers,
                                       const std::optional<wire::WorkerVersion>& version,
                                       bool own_command, const WorkerHome& home = {});

}  // namespace robustrun::agent
