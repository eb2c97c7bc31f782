#pragma once
// Reports trouble with the image, which makes workers fail: as a finding to the supervisor, or to
// the log if findings are not wanted. Used on the agent's loop.

#include <string>

#include "agent/node/node_context.h"

namespace robustrun::agent {

// `plain`: the template as the supervisor gave it.
void report_image_health(NodeContext& node, const wire::WorkerTemplate& plain,
                         const std::string& what, bool is_over);

}  // namespace robustrun::agent
