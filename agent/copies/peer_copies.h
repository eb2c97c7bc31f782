#pragma once
// Keeps copies of workers' states on two nodes each. On this node: the listener for peers, sending
// copies of this node's ranks to their keepers, holding copies of other nodes' ranks, and fetching
// copies of a rank that is to run here.
//
// Owned by the NodeAgent, on its loop, which it never blocks. No copy is sent, accepted or reported
// before the supervisor has chosen the keepers (PlaceCopies).

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

  // Opens the listener, unless it is open at this address already. Returns its endpoint,
  // "address:port"; empty: an error, which is logged. `address`: numeric, of the data interface.
  std::string open(const std::string& run_id, const wire::Identity& self,
                   const std::string& address);
  // The listener also serves blocks (agent/staging/block_peers.h). `use` is called when the
  // listener opens, with this node's keys; `serve` gets the connections that ask for blocks. Call
  // before open().
  struct BlockHooks {
    std::function<void(std::string run_id, wire::SharedBulkKeys keys)> use;
    std::function<void(wire::BulkConnection)> serve;
  };
  void share_listener(BlockHooks hooks);
  // True: `message` was handled here.
  bool take(const wire::Message& message);
  // StartWorkers was received.
  void begin_attempt();

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace robustrun::agent
