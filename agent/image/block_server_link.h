#pragma once
// A block server of this node (robustrun-blocks, docs/formats/block-server.md) as one that peers
// get blocks from, and that gets blocks from peers.
//
// On the agent's loop; the server is a process of its own and may go at any time. Then peers are
// told that nothing is here. Whoever makes it adds it to BlockPeers::server().

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
  // `socket`: connected to the server's. `blob`: its key; empty: the server is asked, and nothing
  // is passed on before it has said it. `on_end`: the server is gone; at most once, never from
  // within make().
  static base::Result<std::shared_ptr<BlockServerLink>> make(NodeContext& node, BlockAsker& asker,
                                                             base::Fd socket, std::string blob,
                                                             std::function<void()> on_end);
  // The last call.
  virtual void abandon() = 0;
};

// To a server's socket, which is ours (the path's last part at least must not be anybody else's).
[[nodiscard]] base::Result<base::Fd> connect_block_server(const std::string& path);

}  // namespace robustrun::agent
