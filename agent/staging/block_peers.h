#pragma once
// This node's part in sharing blocks between nodes: it asks peers for blocks, and gives peers the
// blocks of its sources. So each block is read from the shared storage once per run
// (bootstrap/store/block_tree.h).
//
// Owned by the NodeAgent, on its loop, which it never blocks. Threads are made when blocks are
// first requested.

#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "agent/copies/peer_copies.h"
#include "agent/staging/block_asker.h"
#include "agent/staging/block_server.h"

namespace robustrun::agent {

class BlockPeers {
 public:
  explicit BlockPeers(NodeContext& node)
      : asker_(std::make_shared<BlockAsker>(node)), server_(std::make_shared<BlockServer>(node)) {}
  ~BlockPeers() {
    asker_->abandon();
    server_->abandon();
  }
  BlockPeers(const BlockPeers&) = delete;
  BlockPeers& operator=(const BlockPeers&) = delete;

  // Shares the listener of `copies`, and its keys. To be called before the listener opens.
  void use_listener_of(PeerCopies& copies) {
    copies.share_listener(
        {[this](std::string run_id, wire::SharedBulkKeys keys) {
           asker_->use(std::move(run_id), std::move(keys));
         },
         [this](wire::BulkConnection connection) { server_->take(std::move(connection)); }});
  }
  // True: `message` was handled here.
  bool take(const wire::Message& message) {
    const auto* list = std::get_if<wire::BlockPeers>(&message);
    if (list == nullptr) return false;
    server_->limit(list->rate);
    asker_->know(*list);
    is_known_ = true;
    if (on_known_) on_known_();
    return true;
  }
  // Calls `on_known` whenever a list of nodes arrives, and at once if one has arrived. A later call
  // replaces the function; an empty function removes it.
  void when_known(std::function<void()> on_known) {
    on_known_ = std::move(on_known);
    if (is_known_ && on_known_) on_known_();
  }
  [[nodiscard]] BlockAsker& asker() { return *asker_; }
  [[nodiscard]] BlockServer& server() { return *server_; }

 private:
  const std::shared_ptr<BlockAsker> asker_;
  const std::shared_ptr<BlockServer> server_;
  std::function<void()> on_known_;
  bool is_known_ = false;
};

}  // namespace robustrun::agent
