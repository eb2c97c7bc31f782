#pragma once
// Fetches blocks from peers. bootstrap/store/block_tree.h says which peers to ask, and
// bootstrap/store/fetch_plan.h when to ask another peer as well.
//
// Owned by BlockPeers, on the agent's loop. A block counts if its bytes match the checksum that
// came with it, which was computed by the first node that read the block. So a block that was
// corrupted on the way is fetched again elsewhere; corruption at its origin goes unnoticed.

#include <cstdint>
#include <memory>
#include <string>

#include "agent/node/node_context.h"
#include "agent/staging/block.h"
#include "wire/bulk/stream.h"

namespace robustrun::agent {

struct BlockTraffic {
  std::uint64_t blocks = 0;  // received from peers
  std::uint64_t hedged = 0;  // second and third requests for a block
  std::uint64_t failed = 0;  // requests that a peer did not answer
  std::uint64_t corrupt = 0;  // blocks whose bytes did not match their checksum
};

class BlockAsker {
 public:
  static std::shared_ptr<BlockAsker> make(NodeContext& node);
  virtual ~BlockAsker() = default;

  // Sets our identity. Without it, and without a list, no peer is asked.
  virtual void use(std::string run_id, wire::SharedBulkKeys keys) = 0;
  virtual void know(const wire::BlockPeers& list) = 0;
  // Asks the peers before this node in the tree; if there are none, the first other nodes, which
  // have the block if this node joined late. Waits for the list where one is expected
  // (WorkerTemplate::share_blocks).
  virtual void ask(const wire::BlockName& name, BlockAnswered answer) = 0;
  // Asks all peers, `first` before the others, for a block that they have without asking their
  // peers.
  virtual void ask_all(const wire::BlockName& name, base::NodeId first, BlockAnswered answer) = 0;
  [[nodiscard]] virtual const BlockTraffic& traffic() const = 0;
  // The last call: nothing is answered any more.
  virtual void abandon() = 0;
};

}  // namespace robustrun::agent
