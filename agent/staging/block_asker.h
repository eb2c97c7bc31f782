#pragma once
// Asks peers for blocks. bootstrap/store/block_tree.h chooses the peers,
// bootstrap/store/block_fetch.h decides when to ask a second one.
//
// Owned by BlockPeers, on the agent's loop. A block counts when its bytes have the sum that came
// with them: that is the sum of what its first holder read, so that what a node between corrupted
// is asked for again elsewhere; what was wrong where it came from stays wrong.

#include <cstdint>
#include <memory>
#include <string>

#include "agent/node/node_context.h"
#include "agent/staging/block.h"
#include "wire/bulk/stream.h"

namespace robustrun::agent {

struct BlockTraffic {
  std::uint64_t blocks = 0;  // that peers gave
  std::uint64_t hedged = 0;  // second and third askings
  std::uint64_t failed = 0;  // askings that a peer left without an answer
  std::uint64_t corrupt = 0;  // that came with other bytes than their sum says
};

class BlockAsker {
 public:
  static std::shared_ptr<BlockAsker> make(NodeContext& node);
  virtual ~BlockAsker() = default;

  // Our identity; without it, and without a list, nobody is asked.
  virtual void use(std::string run_id, wire::SharedBulkKeys keys) = 0;
  virtual void know(const wire::BlockPeers& list) = 0;
  // Those before us; where there is none, who would have it if we came late. Waits for the list
  // where one is expected (WorkerTemplate::share_blocks).
  virtual void ask(const wire::BlockName& name, BlockAnswered answer) = 0;
  // Anybody, `first` before all others, for what is theirs without asking peers.
  virtual void ask_all(const wire::BlockName& name, base::NodeId first, BlockAnswered answer) = 0;
  [[nodiscard]] virtual const BlockTraffic& traffic() const = 0;
  // The last call: nobody is answered any more.
  virtual void abandon() = 0;
};

}  // namespace robustrun::agent
