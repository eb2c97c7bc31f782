#pragma once
// The namespaces in which a node's workers see an image as their root: made by bubblewrap, and kept
// by a process below a shim that waits until this object goes, or the agent dies.
//
// Owned by NodeImage, on the agent's loop.

#include <sys/types.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agent/node/node_context.h"
#include "base/core/result.h"

namespace robustrun::agent {

class Container {
 public:
  // The pid whose namespaces they are; later, or instead, why there are none (any more). May
  // destroy this object.
  using Done = std::function<void(base::Result<pid_t>)>;
  static std::unique_ptr<Container> make(NodeContext& node, std::vector<std::string> argv,
                                         Done done);
  virtual ~Container() = default;
};

}  // namespace robustrun::agent
