#include "agent/process/processes.h"

#include <utility>

namespace robustrun::agent {

base::Result<std::unique_ptr<ShimLink>> start_process(NodeContext& node, const ShimOptions& options,
                                                      ShimLink::Handlers handlers) {
  if (node.processes != nullptr) return node.processes->start(options, std::move(handlers));
  return ShimLink::start(node.executor, options, std::move(handlers));
}

base::Result<std::unique_ptr<ShimLink>> adopt_process(
    NodeContext& node, const ShimOptions& options, ShimLink::Handlers handlers,
    const std::function<base::Status(int control)>& order) {
  if (node.processes != nullptr) return node.processes->adopt(options, std::move(handlers), order);
  return ShimLink::adopt(node.executor, options, std::move(handlers), order);
}

}  // namespace robustrun::agent
