#pragma once
// The namespaces in which a node's workers see an image as their root. bubblewrap makes them; a
// process below a shim keeps them until this object is destroyed or the agent dies.
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
  // The pid whose namespaces they are; an error instead, or later, when there are none any more.
  // May destroy this object.
  using Done = std::function<void(base::Result<pid_t>)>;
  static std::unique_ptr<Container> make(NodeContext& node, std::vector<std::string> argv,
                                         Done done);
  virtual ~Container() = default;
};

}  // namespace robustrun::agent
