#pragma once
// This node's part in keeping copies of workers' states on two nodes each: its listener for peers,
// what it sends, what it holds, and what it fetches when a rank comes here.
//
// Owned by the Agent, on its loop; never blocks it. Nothing is sent, held or told before the
// supervisor has said who keeps whose (PlaceCopies).

#include <functional>
#include <memory>
#include <string>

#include "agent/copies/memory_tier.h"
#include "agent/node/node_context.h"
#include "wire/bulk/bulk_listener.h"
#include "wire/messages/messages.h"
#include "wire/tls/identity.h"

namespace robustrun::agent {

class PeerCopies {
 public:
  PeerCopies(NodeContext& node, MemoryTier& tier);
  ~PeerCopies();
  PeerCopies(const PeerCopies&) = delete;
  PeerCopies& operator=(const PeerCopies&) = delete;

  // Where peers reach us: "address:port" of a listener that stays open; empty when there is none.
  // `address`: numeric, of the data interface.
  std::string open(const std::string& run_id, const wire::Identity& self,
                   const std::string& address);
  // The listener also serves blocks: when it opens, `use` gets the run and the keys of this node;
  // `serve` gets connections that ask for blocks. Before open().
  struct BlockHands {
    std::function<void(std::string run_id, wire::SharedBulkKeys keys)> use;
    std::function<void(wire::BulkConnection)> serve;
  };
  void share_listener(BlockHands hands);
  // True when the message was for us.
  bool take(const wire::Message& message);
  // StartWorkers came.
  void begin_attempt();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
