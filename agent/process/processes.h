#pragma once
// Starts processes on this node, each below a shim (shim_link.h). Tests replace Processes by a fake
// (NodeContext::processes).

#include <functional>
#include <memory>

#include "agent/node/node_context.h"
#include "agent/process/shim_link.h"
#include "base/core/result.h"

namespace robustrun::agent {

class Processes {
 public:
  virtual ~Processes() = default;
  // As ShimLink::start() and ShimLink::adopt().
  virtual base::Result<std::unique_ptr<ShimLink>> start(const ShimOptions& options,
                                                        ShimLink::Handlers handlers) = 0;
  virtual base::Result<std::unique_ptr<ShimLink>> adopt(
      const ShimOptions& options, ShimLink::Handlers handlers,
      const std::function<base::Status(int control)>& order) = 0;
};

// These call NodeContext::processes if it is set, otherwise ShimLink.
base::Result<std::unique_ptr<ShimLink>> start_process(NodeContext& node, const ShimOptions& options,
                                                      ShimLink::Handlers handlers);
base::Result<std::unique_ptr<ShimLink>> adopt_process(
    NodeContext& node, const ShimOptions& options, ShimLink::Handlers handlers,
    const std::function<base::Status(int control)>& order);

}  // namespace robustrun::agent
