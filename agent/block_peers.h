#pragma once
// This node's part in passing blocks of blobs on: it asks peers for what it needs, and gives them
// what its sources have. By this each block leaves the shared storage once in a run
// (bootstrap/block_tree.h).
//
// Owned by the Agent, on its loop; never blocks it. No threads are made before blocks are wanted.

#include <memory>
#include <string>
#include <utility>

#include "agent/block_asker.h"
#include "agent/block_server.h"
#include "agent/peer_copies.h"

namespace robustrun::agent {

class BlockPeers {
 public:
  explicit BlockPeers(NodeContext& node)
      : asker_(BlockAsker::make(node)), server_(BlockServer::make(node)) {}
  ~BlockPeers() {
    asker_->abandon();
    server_->abandon();
  }
  BlockPeers(const BlockPeers&) = delete;
  BlockPeers& operator=(const BlockPeers&) = delete;

  // The door that others ask us at, and as whom we ask them. Before it opens.
  void come_by(PeerCopies& door) {
    door.share_door({[this](std::string run_id, wire::SharedBulkKeys keys) {
                       asker_->use(std::move(run_id), std::move(keys));
                     },
                     [this](wire::BulkVisitor visitor) { server_->take(std::move(visitor)); }});
  }
  // True when the message was for us.
  bool take(const wire::Message& message) {
    const auto* list = std::get_if<wire::BlockPeers>(&message);
    if (list == nullptr) return false;
    server_->limit(list->rate);
    asker_->know(*list);
    return true;
  }
  [[nodiscard]] BlockAsker& asker() { return *asker_; }
  [[nodiscard]] BlockServer& server() { return *server_; }

 private:
  std::shared_ptr<BlockAsker> asker_;
  std::shared_ptr<BlockServer> server_;
};

}  // namespace robustrun::agent
