#pragma once
// A block server of this node (robustrun-blocks, docs/formats/block-server.md), both as a source of
// blocks for peers and as a consumer of peers' blocks.
//
// Used on the agent's loop. The server is a process of its own and may end at any time; peers are
// then told that nothing is here. The owner registers the link with BlockPeers::server().

#include <functional>
#include <memory>
#include <string>

#include "agent/node/node_context.h"
#include "agent/staging/block.h"
#include "agent/staging/block_asker.h"
#include "base/core/result.h"
#include "base/io/fd.h"

namespace robustrun::agent {

class BlockServerLink : public BlockSource {
 public:
  // `socket`: connected to the server. `blob`: the key of its blob; empty: the server is asked for
  // it, and no block is passed on before it has answered. `on_end`: the server is gone; called at
  // most once, never from within make().
  static base::Result<std::shared_ptr<BlockServerLink>> make(NodeContext& node, BlockAsker& asker,
                                                             base::Fd socket, std::string blob,
                                                             std::function<void()> on_end);
  // Ends the link. No call may follow.
  virtual void abandon() = 0;
};

// Connects to a server's socket. `path` must lie in a private folder of ours: who listens there is
// not checked.
[[nodiscard]] base::Result<base::Fd> connect_block_server(const std::string& path);

}  // namespace robustrun::agent
