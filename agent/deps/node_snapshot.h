#pragma once
// The dependencies that the run asks for (--deps, --setup-cmd), installed once and put in front of
// the workers' environment on this node.
//
// Owned by the Preparation, on the agent's loop. Begins as soon as the run is known here, usually
// long before the first order; with --sync-code or --image only when a start waits and those are
// here. The interpreter is asked for its ABI, the inputs are hashed to a key
// (bootstrap/deps/key.h), and the snapshot of that key is mounted. If the cache has none, the node
// that gets the lease (bootstrap/deps/lease.h) installs it. Nodes that share the cache wait; nodes
// with their own cache first ask other nodes (snapshot_exchange.h). Installers run below a shim, so
// that no process of theirs outlives this agent. A failure fails the start on this node, and the
// next attempt tries again.

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

  // Calls `go` once NodeContext::snapshot is what the workers of this attempt are to see; at once
  // if no dependencies are asked for. An error is a sentence for the user. A later call replaces
  // one that still waits.
  void begin_attempt(std::function<void(base::Status)> go);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
