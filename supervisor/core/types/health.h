#pragma once
// What an agent noticed about its machine, as an event of the core. Plain data. Agents tell changes
// that matter, once each; what is done about one follows from the fault table and the policy.

#include "wire/messages/facts.h"

namespace robustrun::supervisor {

using wire::NodeHealth;

// "the kernel log", "the GPU driver", …
const char* to_string(NodeHealth::Source source);

}  // namespace robustrun::supervisor
