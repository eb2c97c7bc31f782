#pragma once
// Passes snapshots of dependencies between nodes: a node that lacks a snapshot gets it from a node
// that has it (docs/formats/bulk.md), or waits for a node that is making it.
//
// Owned by NodeSnapshot, on the agent's loop. A hash of the snapshot's name orders the nodes as
// a tree (bootstrap/store/block_tree.h). A node waits only for nodes before it, so no cycle of
// waiting nodes can form; the first node makes the snapshot. A received snapshot is a hard link to
// the file in which the block store collected its blocks.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "agent/node/node_context.h"
#include "agent/staging/block_peers.h"
#include "agent/staging/staged_file.h"
#include "base/core/result.h"
#include "base/io/blocking_pool.h"
#include "base/io/timer.h"
#include "bootstrap/deps/store.h"

namespace robustrun::agent {

class SnapshotExchange : private BlockSource,
                         public std::enable_shared_from_this<SnapshotExchange> {
 public:
  SnapshotExchange(NodeContext& node, BlockPeers& peers)
      : node_(node), peers_(peers), again_(node.executor), list_(node.executor) {}

  using IsWanted = std::function<bool(const bootstrap::Snapshot&)>;
  using Found = std::function<void(base::Result<std::optional<bootstrap::Snapshot>>)>;
  // Looks for the snapshot on other nodes and fetches it to `cache`. Call while this node holds the
  // lease of `cache`. Other nodes are told from now on that the snapshot is coming. `is_wanted`
  // judges a snapshot that another node offers. `found` gets nullopt if no node has a wanted
  // snapshot and no node before this one makes one: this node then makes it.
  void seek(const std::string& cache, const std::string& key, IsWanted is_wanted, Found found);
  // The snapshot is in `cache`: other nodes may fetch it from now on.
  void offer(const std::string& cache, const bootstrap::Snapshot& snapshot);
  // The snapshot could not be made: other nodes need not wait for it.
  void give_up() { is_coming_ = false; }
  // The last call.
  void abandon();

 private:
  bool get(const wire::BlockName& name, wire::BlockScope scope, BlockAnswered answer) override;
  void begin(const std::string& key);
  void ask();
  BlockAnswered handle_with(void (SnapshotExchange::*next)(const SharedBlock&));
  void on_answer(const SharedBlock& block);
  void ask_again();
  void on_about(const SharedBlock& block);
  void fetch(const bootstrap::Snapshot& announced);
  void finish(const bootstrap::Snapshot& announced);
  void end(base::Result<std::optional<bootstrap::Snapshot>> found);
  void drop_file();

  NodeContext& node_;
  BlockPeers& peers_;
  base::Timer again_, list_;
  std::string name_, key_, cache_;
  base::Nanos asked_at_{};
  bool is_coming_ = false, is_waiting_logged_ = false;
  IsWanted is_wanted_;
  Found found_;
  std::shared_ptr<StagedFile> file_;  // the snapshot that is being fetched
  std::optional<bootstrap::Snapshot> announced_;  // its description
  std::optional<bootstrap::Snapshot> offered_;
  bootstrap::Blob blob_;
  std::optional<base::BlockingPool> pool_;  // of its own: the cache may hang
  std::uint32_t next_lane_ = 0;
};

}  // namespace robustrun::agent
