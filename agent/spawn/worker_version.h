#pragma once
// How another version of the run changes this node's workers (`robustrun update`).

#include <optional>

#include "agent/node/node_context.h"
#include "agent/node/worker_home.h"
#include "base/core/result.h"
#include "wire/messages/orders.h"

namespace robustrun::agent {

// The template with the version's replacements. Pure.
[[nodiscard]] wire::WorkerTemplate with_version(wire::WorkerTemplate workers,
                                                const wire::WorkerVersion& version);

// The template that workers of `version` (none: as the run was started) are started with here, with
// the snapshot of their dependencies in front of their own packages. Pure.
[[nodiscard]] wire::WorkerTemplate workers_of(const NodeContext& node,
                                              const std::optional<wire::WorkerVersion>& version);

// Whether this machine sees the version's code exactly as it was when it was handed in. Reads and
// hashes all of it: blocks.
[[nodiscard]] base::Status check_version(const wire::WorkerVersion& version);

// Whether workers of `version` (none: as the run was started) can be started here, judging by code
// and program (check_program.h, with `home`). `own_command`: as in NodeContext. Blocks.
[[nodiscard]] base::Status check_start(const wire::WorkerTemplate& workers,
                                       const std::optional<wire::WorkerVersion>& version,
                                       bool own_command, const WorkerHome& home = {});

}  // namespace robustrun::agent
