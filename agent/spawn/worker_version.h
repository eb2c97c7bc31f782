#pragma once
// What another version of the run makes of this node's workers (`robustrun update`).

#include <optional>

#include "agent/node/node_context.h"
#include "agent/node/worker_home.h"
#include "base/core/result.h"
#include "wire/messages/orders.h"

namespace robustrun::agent {

// The template with what the version has instead. Pure.
[[nodiscard]] wire::WorkerTemplate with_version(wire::WorkerTemplate workers,
                                                const wire::WorkerVersion& version);

// What workers of that version, or as the run was started, are started with here: the snapshot of
// their dependencies is in front of what they would see. Pure.
[[nodiscard]] wire::WorkerTemplate workers_of(const NodeContext& node,
                                              const std::optional<wire::WorkerVersion>& version);

// Whether this machine sees the version's code, exactly as it was when it was handed in. Reads and
// hashes all of it: blocks.
[[nodiscard]] base::Status check_version(const wire::WorkerVersion& version);

// Whether workers of that version, or as the run was started, can be started here: by code and
// program (check_program.h, as `home`). `own_command`: this machine joined without authentication.
// Blocks.
[[nodiscard]] base::Status check_start(const wire::WorkerTemplate& workers,
                                       const std::optional<wire::WorkerVersion>& version,
                                       bool own_command, const WorkerHome& home = {});

}  // namespace robustrun::agent
