#pragma once
// Installs the dependencies that the run asks for (--deps, --setup-cmd), once, and puts them in
// front of the workers' environment on this node.
//
// Owned by the Preparation, on the agent's loop. The work begins when this object is made; with
// --sync-code or --image it begins with the start order, when code and image are on this node. The
// interpreter's ABI and the inputs give a key (bootstrap/deps/key.h), and the snapshot of that key
// is mounted or unpacked. If the cache has none, one of the nodes that share the cache gets the
// lease (bootstrap/deps/lease.h), and the others wait. The node with the lease fetches the snapshot
// from a node with another cache (snapshot_exchange.h), or installs the dependencies. Installers
// run below a shim, so that none of their processes outlives this agent. A failure fails the start
// on this node, and the next attempt tries again.

#include <functional>
#include <memory>

#include "agent/node/node_context.h"
#include "agent/staging/block_peers.h"
#include "base/core/result.h"

namespace robustrun::agent {

class NodeSnapshot {
 public:
  NodeSnapshot(NodeContext& node, BlockPeers& peers);
  ~NodeSnapshot();
  NodeSnapshot(const NodeSnapshot&) = delete;
  NodeSnapshot& operator=(const NodeSnapshot&) = delete;

  // Calls `go` once NodeContext::snapshot has what the workers of this attempt are to see; at once
  // if no dependencies are asked for. The text of an error is for the user. A later call drops an
  // earlier `go` that still waits.
  void begin_attempt(std::function<void(base::Status)> go);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
