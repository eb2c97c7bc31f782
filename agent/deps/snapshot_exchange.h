#pragma once
// Passes snapshots of dependencies between nodes: a node that lacks a snapshot gets it from a node
// that has it (docs/formats/bulk.md), or waits for one that is making it.
//
// Owned by NodeSnapshot, on the agent's loop. A node asks the nodes before it in the tree of the
// snapshot's name (bootstrap/store/block_tree.h). The first node makes the snapshot, so no cycle of
// waiting nodes can form. Blocks go through the block store; the snapshot is a second name of the
// file there.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/node/node_context.h"
#include "agent/staging/block_peers.h"
#include "base/core/result.h"
#include "bootstrap/deps/store.h"

namespace robustrun::agent {

class SnapshotExchange {
 public:
  static std::shared_ptr<SnapshotExchange> make(NodeContext& node, BlockPeers& peers);
  virtual ~SnapshotExchange() = default;

  using IsWanted = std::function<bool(const bootstrap::Snapshot&)>;
  using Found = std::function<void(base::Result<std::optional<bootstrap::Snapshot>>)>;
  // For a node that would make the snapshot and has its cache's lease; from now on it tells others
  // that the snapshot is coming. nullopt: no node has it, and no node before this one makes it.
  virtual void seek(const std::string& cache, const std::string& key, IsWanted is_wanted,
                    Found found) = 0;
  // The snapshot is in the cache: other nodes can have it.
  virtual void offer(const std::string& cache, const bootstrap::Snapshot& snapshot) = 0;
  // The snapshot could not be made.
  virtual void give_up() = 0;
  // The last call.
  virtual void abandon() = 0;
};

}  // namespace robustrun::agent
