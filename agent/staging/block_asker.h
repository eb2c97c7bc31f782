#pragma once
// Fetches blocks from peers. bootstrap/store/block_tree.h says which peers to ask, and
// bootstrap/store/fetch_plan.h when to ask another peer as well.
//
// Owned by BlockPeers, on the agent's loop. A received block must match the checksum that its
// sender computed. So a block that was corrupted on the way is fetched again from another peer;
// corruption at the sender goes unnoticed.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "agent/node/node_context.h"
#include "agent/staging/block.h"
#include "agent/staging/block_connection.h"
#include "base/io/blocking_pool.h"
#include "bootstrap/store/block_tree.h"
#include "bootstrap/store/peer_latency.h"
#include "wire/bulk/stream.h"

namespace robustrun::agent {

struct BlockTraffic {
  std::uint64_t blocks = 0;  // received from peers
  std::uint64_t hedged = 0;  // requests while an earlier one for the same block was open
  std::uint64_t failed = 0;  // requests that failed or were given up
  std::uint64_t corrupt = 0;  // blocks whose bytes did not match their checksum
};

struct BlockFetch;
struct BlockRequest;

class BlockAsker : public std::enable_shared_from_this<BlockAsker> {
 public:
  explicit BlockAsker(NodeContext& node) : node_(node) {}

  // Sets the run's id and keys, with which this node connects. No peer is asked before use() and
  // know() were called.
  void use(std::string run_id, wire::SharedBulkKeys keys);
  // Sets the list of peers.
  void know(const wire::BlockPeers& list);
  // Asks the peers before this node in the block's tree. If no peer is before it, asks the next
  // nodes of the tree, which may have the block if this node joined late. Waits for know() if a
  // list will come (WorkerTemplate::share_blocks).
  void ask(const wire::BlockName& name, BlockAnswered answer);
  // Asks all peers, `first` before the others, for a block that they have or can read themselves.
  void ask_all(const wire::BlockName& name, base::NodeId first, BlockAnswered answer);
  [[nodiscard]] const BlockTraffic& traffic() const { return traffic_; }
  // The last call: nothing is answered any more.
  void abandon();

 private:
  using SharedFetch = std::shared_ptr<BlockFetch>;
  using SharedRequest = std::shared_ptr<BlockRequest>;
  using SharedConnection = std::shared_ptr<BlockConnection>;
  void fetch(const wire::BlockName& name, wire::BlockScope scope, std::vector<base::NodeId> sources,
             BlockAnswered answer);
  void go_on(const SharedFetch& fetch);
  void finish(const SharedFetch& fetch, SharedBlock block);
  void ask_peer(const SharedFetch& fetch, base::NodeId node);
  void begin(const SharedRequest& request);
  void await_reply(const SharedRequest& request);
  void on_reply(const SharedRequest& request);
  void on_failed(const SharedRequest& request);
  void drop_connection(const SharedFetch& fetch, base::NodeId node);
  [[nodiscard]] SharedConnection idle_connection(base::NodeId node);
  void keep_connection(base::NodeId node, SharedConnection connection);
  [[nodiscard]] static bool is_current(const BlockRequest& request);

  NodeContext& node_;
  std::string run_id_;
  wire::SharedBulkKeys keys_;
  std::optional<bootstrap::BlockTree> tree_;  // none: no list yet
  std::map<base::NodeId, wire::BlockPeer> peers_;
  std::vector<std::pair<wire::BlockName, BlockAnswered>> waiting_;  // for the list
  bootstrap::PeerLatency latency_;
  BlockTraffic traffic_;
  std::set<SharedFetch> fetches_;
  std::vector<std::pair<base::NodeId, SharedConnection>> idle_;  // the last used one at the end
  std::uint32_t next_lane_ = 0, next_id_ = 0;
  std::optional<base::BlockingPool> pool_;  // made for the first request
};

}  // namespace robustrun::agent
