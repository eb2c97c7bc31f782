#pragma once
// What an agent noticed about its machine, the scheduler plans for it, or a user orders, as an
// event of the core. Plain data. Agents report each relevant change once; the fault table and the
// policy decide what is done about it.

#include "wire/messages/facts.h"

namespace robustrun::supervisor {

using wire::NodeHealth;

// "the kernel log", "the GPU driver", …
const char* to_string(NodeHealth::Source source);

}  // namespace robustrun::supervisor
