#pragma once
// What another version of the run makes of this node's workers (`robustrun update`).

#include "base/core/result.h"
#include "wire/orders.h"

namespace robustrun::agent {

// The template with what the version has instead. Pure.
[[nodiscard]] wire::WorkerTemplate with_version(wire::WorkerTemplate workers,
                                                const wire::WorkerVersion& version);

// Whether this machine sees the version's code, exactly as it was when it was handed in. Reads and
// hashes all of it: blocks.
[[nodiscard]] base::Status check_version(const wire::WorkerVersion& version);

}  // namespace robustrun::agent
