#pragma once
// Answers peers that ask for blocks (docs/formats/bulk.md).
//
// Owned by BlockPeers, on the agent's loop. If a source still has to get a block, the peer is told
// at intervals that it is coming. No request waits for a thread that waits for a peer.

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "agent/node/node_context.h"
#include "agent/staging/block.h"
#include "wire/bulk/bulk_listener.h"

namespace robustrun::agent {

class BlockServer {
 public:
  static std::shared_ptr<BlockServer> make(NodeContext& node);
  virtual ~BlockServer() = default;

  // `connection` asks for blocks; its request was read.
  virtual void take(wire::BulkConnection connection) = 0;
  // Each source outlives the server or is removed.
  virtual void add(BlockSource& source) = 0;
  virtual void remove(BlockSource& source) = 0;
  // Bytes per second to all peers together; none: no limit.
  virtual void limit(std::optional<std::uint64_t> rate) = 0;
  [[nodiscard]] virtual std::uint64_t blocks_sent() const = 0;
  // The last call.
  virtual void abandon() = 0;
};

}  // namespace robustrun::agent
