#pragma once
// Reports trouble with the image, which makes workers fail: to the supervisor as a finding, or to
// the log if the run does not report findings. Used on the agent's loop.

#include <string>

#include "agent/node/node_context.h"

namespace robustrun::agent {

// `plain`: the template that the supervisor sent. `is_over`: the trouble has ended.
void report_image_health(NodeContext& node, const wire::WorkerTemplate& plain,
                         const std::string& what, bool is_over);

}  // namespace robustrun::agent
