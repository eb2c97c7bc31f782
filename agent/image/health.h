#pragma once
// What makes workers fail for want of their image, for the supervisor; where nobody asks for
// findings, for the log. On the agent's loop.

#include <string>

#include "agent/node/node_context.h"

namespace robustrun::agent {

// `plain`: as the supervisor gave it.
void tell_image_health(NodeContext& node, const wire::WorkerTemplate& plain,
                       const std::string& what, bool is_over);

}  // namespace robustrun::agent
