#pragma once
// The Linux namespaces in which a node's workers see an image as their root. bubblewrap makes them.
// A process below a shim keeps them until this object is destroyed or the agent dies.
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
  // Called with the pid of a process in the namespaces, or with an error if they cannot be made.
  // Called again, with an error, if they are lost later. May destroy this object.
  using Done = std::function<void(base::Result<pid_t>)>;
  // `argv`: of bwrap_argv() with the command `robustrun-shim --hold`.
  static std::unique_ptr<Container> make(NodeContext& node, std::vector<std::string> argv,
                                         Done done);
  virtual ~Container() = default;
};

}  // namespace robustrun::agent
