#pragma once
// Snapshots of dependencies between nodes: one that lacks a snapshot gets it from those that have
// it (docs/formats/bulk.md), and waits for one that is making it.
//
// Owned by NodeSnapshot, on the agent's loop. Whom a node asks has the place before it in the tree
// of the snapshot's name (bootstrap/store/block_tree.h): the first of all makes it, and nobody
// waits in a circle. Blocks go through the store of blocks; the snapshot is another name of what
// lies there.

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
  // For a node that would make the snapshot, with the lease of its cache: from now on it says to
  // others that it is coming. Nothing: nobody has it, and nobody before us makes it.
  virtual void seek(const std::string& cache, const std::string& key, IsWanted is_wanted,
                    Found found) = 0;
  // It is in the cache, for others.
  virtual void offer(const std::string& cache, const bootstrap::Snapshot& snapshot) = 0;
  // It could not be made.
  virtual void give_up() = 0;
  // The last call.
  virtual void abandon() = 0;
};

}  // namespace robustrun::agent
