#pragma once
// Connects the agent to a block server of this node (robustrun-blocks,
// docs/formats/block-server.md): peers get blocks from the server, and the server gets blocks from
// peers.
//
// Used on the agent's loop. The server is a process of its own and may end at any time; peers are
// then told that this node has no blocks. The owner registers the link with BlockPeers::server().

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
  // `socket`: connected to the server. `blob`: the key of the server's blob (an image or a file);
  // empty: the server is asked for the key, and peers get no block before it has answered. `on_end`
  // is called when the server is gone: at most once, never from within make().
  static base::Result<std::shared_ptr<BlockServerLink>> make(NodeContext& node, BlockAsker& asker,
                                                             base::Fd socket, std::string blob,
                                                             std::function<void()> on_end);
  // The last call: ends the link.
  virtual void abandon() = 0;
};

// Connects to a server's socket. `path` must lie in a private folder, because the process that
// listens there is not authenticated.
[[nodiscard]] base::Result<base::Fd> connect_block_server(const std::string& path);

}  // namespace robustrun::agent
