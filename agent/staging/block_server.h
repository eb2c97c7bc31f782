#pragma once
// Answers peers that ask for blocks (docs/formats/bulk.md).
//
// Owned by BlockPeers, on the agent's loop. If a source still has to get a block, the peer is told
// at intervals that the block is coming. A peer occupies one of kBlockServeThreads while it sends a
// question (at most kQuestionMax) or takes a block (at most kUploadMax), and no thread otherwise.

#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "agent/node/node_context.h"
#include "agent/staging/block.h"
#include "base/io/blocking_pool.h"
#include "base/io/timer.h"
#include "wire/bulk/bulk_listener.h"
#include "wire/bulk/pace.h"

namespace robustrun::agent {

struct BlockSession;

class BlockServer : public std::enable_shared_from_this<BlockServer> {
 public:
  explicit BlockServer(NodeContext& node) : node_(node), tick_(node.executor) {}

  // Serves a peer that asks for blocks. The bulk request of `connection` has been read.
  void take(wire::BulkConnection connection);
  // Each source outlives the server or is removed.
  void add(BlockSource& source) { sources_.push_back(&source); }
  void remove(BlockSource& source) { std::erase(sources_, &source); }
  // `rate`: bytes per second, to all peers together; nullopt or 0: no limit.
  void limit(std::optional<std::uint64_t> rate);
  [[nodiscard]] std::uint64_t blocks_sent() const { return blocks_sent_; }
  // The last call.
  void abandon();

 private:
  using SharedSession = std::shared_ptr<BlockSession>;
  void await(const SharedSession& session);
  void on_question(const SharedSession& session);
  void find(const SharedSession& session);
  void answer(const SharedSession& session, wire::BlockVerdict verdict, SharedBlock block);
  void send(const SharedSession& session, wire::BlockVerdict verdict, const SharedBlock& block);
  void sign(const SharedSession& session);
  void drop(const SharedSession& session);
  void watch();
  void look();

  NodeContext& node_;
  std::vector<BlockSource*> sources_;
  std::list<SharedSession> sessions_;
  std::optional<std::uint64_t> rate_;
  std::optional<wire::BulkPace> pace_;
  std::size_t uploads_ = 0;
  std::uint64_t blocks_sent_ = 0;
  base::Timer tick_;
  bool is_ticking_ = false;
  std::uint32_t next_lane_ = 0;
  std::optional<base::BlockingPool> pool_;  // made for the first connection
};

}  // namespace robustrun::agent
