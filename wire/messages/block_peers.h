#pragma once
// Which nodes of a run pass blocks of images, staged files and code on to each other
// (agent/staging/block_peers.h). The blocks themselves go from agent to agent over other
// connections (wire/bulk/block_exchange.h). CodeWanted and CodeBlock bring a node the code that the
// run was started with, which only the supervisor has at first.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/ids.h"

namespace robustrun::wire {

struct BlockPeer {
  base::NodeId node;
  base::Generation generation;
  std::string endpoint;  // Hello::bulk of that node
  bool operator==(const BlockPeer&) const = default;
  template <class V>
  void fields(V& v) {
    v(1, "node", node);
    v(2, "generation", generation);
    v(3, "endpoint", endpoint);
  }
};

// Supervisor to agent, in runs with WorkerTemplate::share_blocks: all nodes that pass blocks on,
// the receiver included. Sent when nodes have joined, at every change and to an agent that
// reconnects. Each list replaces the previous one.
struct BlockPeers {
  std::vector<BlockPeer> peers;  // at most kBlockPeersMax; further nodes are left out
  std::optional<std::uint64_t> rate{};  // bytes/s that a node sends at most; none: no limit
  template <class V>
  void fields(V& v) {
    v(1, "peers", peers);
    v(2, "rate", rate);
  }
};

// Agent to supervisor, in runs with WorkerTemplate::code: requests a block of the packed code,
// because no peer has it. Answered by CodeBlock; sent again if no answer comes.
struct CodeWanted {
  std::uint64_t block = 0;
  template <class V>
  void fields(V& v) {
    v(1, "block", block);
  }
};

// Supervisor to agent, in answer to CodeWanted.
struct CodeBlock {
  std::uint64_t block = 0;
  std::string bytes;
  std::string error{};  // why there are no bytes; empty: success
  template <class V>
  void fields(V& v) {
    v(1, "block", block);
    v(2, "bytes", bytes);
    v(3, "error", error);
  }
};

}  // namespace robustrun::wire
