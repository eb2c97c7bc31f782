#pragma once
// Something about a machine, as an event of the core: what its agent noticed, what the scheduler
// plans for it, or what a user orders for it. Plain data. Agents report each relevant change once.
// The fault table and the policy decide what is done about it.

#include "wire/messages/facts.h"

namespace robustrun::supervisor {

using wire::NodeHealth;

// "the kernel log", "the GPU driver", …
const char* to_string(NodeHealth::Source source);

}  // namespace robustrun::supervisor
