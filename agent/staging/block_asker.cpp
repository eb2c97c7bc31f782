#include "agent/staging/block_asker.h"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "agent/staging/block_limits.h"
#include "agent/staging/block_line.h"
#include "base/io/log.h"
#include "bootstrap/store/block_fetch.h"
#include "bootstrap/store/block_tree.h"
#include "bootstrap/store/peer_latency.h"
#include "wire/bulk/request.h"
#include "wire/messages/limits.h"

namespace robustrun::agent {
namespace {

using base::NodeId;
using bootstrap::BlockFetch;
using bootstrap::BlockTree;
using SharedLine = std::shared_ptr<BlockLine>;

// One block that is sought.
struct BlockHunt {
  BlockHunt(const boost::asio::any_io_executor& executor, BlockFetch of)
      : fetch(std::move(of)), timer(executor) {}
  wire::BlockName name;
  wire::BlockScope scope = wire::BlockScope::kAny;
  BlockFetch fetch;
  boost::asio::steady_timer timer;
  BlockAnswered answer;
  std::map<NodeId, SharedLine> lines;  // to those who were asked and have not ended
  std::size_t asked = 0;
};
using SharedBlockHunt = std::shared_ptr<BlockHunt>;

// One peer that is asked for it.
struct BlockAsking {
  SharedBlockHunt hunt;
  NodeId node;
  SharedLine line;
  bool is_fresh = true;  // a connection made for it
  std::uint32_t id = 0;
  base::Nanos since{};
  base::Status status;
  wire::BlockAnswer said;
  SharedBlock block;
};
using SharedBlockAsking = std::shared_ptr<BlockAsking>;

base::Status begin_asking(wire::BulkStream& stream, const wire::BulkKeys& keys,
                          const std::string& endpoint, const wire::PeerName& peer, bool is_fresh,
                          const wire::BlockQuestion& question) {
  const base::SystemClock clock;
  stream.set_deadline(clock.now() + base::Nanos(kBlockConnectMax));
  if (is_fresh) {
    RR_TRY(stream.connect(keys, endpoint, peer));
    RR_TRY(stream.send(to_bytes(wire::BulkRequest{wire::BulkPurpose::kBlocks, {}, 0, 0})));
  }
  return stream.send(to_bytes(question));
}

base::Status hear_block(wire::BulkStream& stream, BlockAsking& asking) {
  const base::SystemClock clock;
  stream.set_deadline(clock.now() + base::Nanos(kBlockReceiveMax));
  std::array<char, wire::kBlockAnswerBytes> head{};
  RR_TRY(stream.receive(head));
  asking.said = RR_TRY(wire::parse_block_answer({head.data(), head.size()}));
  if (asking.said.id != asking.id) {
    return base::fail(base::Errc::kProtocol, "the peer answers what it was not asked");
  }
  if (asking.said.verdict != wire::BlockVerdict::kHere) return {};
  std::string bytes(asking.said.bytes, '\0');
  RR_TRY(stream.receive(bytes));
  SharedBlock block = make_block(std::move(bytes));
  if (block->sum != asking.said.sum) {
    return base::fail(base::Errc::kCorrupt,
                      "the block that came has other bytes than its sum says");
  }
  asking.block = std::move(block);
  return {};
}

class BlockAskerImpl final : public BlockAsker,
                             public std::enable_shared_from_this<BlockAskerImpl> {
 public:
  explicit BlockAskerImpl(NodeContext& node) : node_(node) {}

  void use(std::string run_id, wire::SharedBulkKeys keys) override {
    run_id_ = std::move(run_id);
    keys_ = std::move(keys);
  }
  void know(const wire::BlockPeers& list) override;
  void ask(const wire::BlockName& name, BlockAnswered answer) override;
  void ask_all(const wire::BlockName& name, NodeId first, BlockAnswered answer) override;
  [[nodiscard]] const BlockTraffic& traffic() const override { return traffic_; }
  void abandon() override;

 private:
  void hunt(const wire::BlockName& name, wire::BlockScope scope, std::vector<NodeId> sources,
            BlockAnswered answer);
  void go_on(const SharedBlockHunt& hunt);
  void finish(const SharedBlockHunt& hunt, SharedBlock block);
  void ask_peer(const SharedBlockHunt& hunt, NodeId node);
  void begin(const SharedBlockAsking& asking);
  void hear(const SharedBlockAsking& asking);
  void on_heard(const SharedBlockAsking& asking);
  void on_failed(const SharedBlockAsking& asking);
  void drop_line(const SharedBlockHunt& hunt, NodeId node);
  [[nodiscard]] SharedLine idle_line(NodeId node);
  void keep_line(NodeId node, SharedLine line);
  [[nodiscard]] static bool is_current(const BlockAsking& asking) {
    const auto found = asking.hunt->lines.find(asking.node);
    return asking.hunt->answer && found != asking.hunt->lines.end() && found->second == asking.line;
  }

  NodeContext& node_;
  std::string run_id_;
  wire::SharedBulkKeys keys_;
  std::optional<BlockTree> tree_;  // none: there was no list yet
  std::map<NodeId, wire::BlockPeer> peers_;
  std::vector<std::pair<wire::BlockName, BlockAnswered>> waiting_;  // for the list
  bootstrap::PeerLatency latency_;
  BlockTraffic traffic_;
  std::set<SharedBlockHunt> hunts_;
  std::vector<std::pair<NodeId, SharedLine>> idle_;  // the one used last at the end
  std::uint32_t next_lane_ = 0, next_id_ = 0;
  std::optional<base::BlockingPool> pool_;  // made when somebody is asked
};

void BlockAskerImpl::know(const wire::BlockPeers& list) {
  std::map<NodeId, wire::BlockPeer> peers;
  std::vector<NodeId> nodes;
  for (const wire::BlockPeer& peer : list.peers) {
    if (nodes.size() == wire::kBlockPeersMax) break;
    nodes.push_back(peer.node);
    peers.insert_or_assign(peer.node, peer);
  }
  // Who has come back in another place is somebody else.
  std::erase_if(idle_, [&](const auto& idle) {
    const auto now = peers.find(idle.first);
    const bool is_same = now != peers.end() && now->second == peers_.at(idle.first);
    if (!is_same) idle.second->hang_up();
    return !is_same;
  });
  peers_ = std::move(peers);
  tree_.emplace(std::move(nodes));
  for (auto& [name, answer] : std::exchange(waiting_, {})) ask(name, std::move(answer));
}

void BlockAskerImpl::ask(const wire::BlockName& name, BlockAnswered answer) {
  if (!tree_ && keys_ && node_.workers.share_blocks && waiting_.size() < kBlockHuntsMax) {
    waiting_.emplace_back(name, std::move(answer));
    return;
  }
  if (!tree_ || !keys_) return hunt(name, wire::BlockScope::kAny, {}, std::move(answer));
  const base::Nanos now = node_.clock.now();
  const auto is_out = [&](NodeId node) { return latency_.is_out(node, now); };
  auto sources = tree_->sources(name.blob, name.block, node_.self, is_out);
  auto scope = wire::BlockScope::kAny;
  if (sources.empty()) {
    sources = tree_->first_others(name.blob, name.block, node_.self, is_out);
    scope = wire::BlockScope::kStored;
  }
  hunt(name, scope, std::move(sources), std::move(answer));
}

void BlockAskerImpl::ask_all(const wire::BlockName& name, NodeId first, BlockAnswered answer) {
  std::vector<NodeId> sources;
  if (tree_ && keys_) sources = tree_->nodes();
  std::erase(sources, node_.self);
  std::ranges::stable_partition(sources, [&](NodeId node) { return node == first; });
  hunt(name, wire::BlockScope::kOwn, std::move(sources), std::move(answer));
}

void BlockAskerImpl::hunt(const wire::BlockName& name, wire::BlockScope scope,
                          std::vector<NodeId> sources, BlockAnswered answer) {
  if (sources.empty() || hunts_.size() >= kBlockHuntsMax) {
    boost::asio::post(node_.executor, [self = weak_from_this(), answer = std::move(answer)] {
      if (!self.expired()) answer(nullptr);
    });
    return;
  }
  if (!pool_) pool_.emplace(node_.executor, kBlockAskThreads, 4 * kBlockHuntsMax);
  auto made = std::make_shared<BlockHunt>(node_.executor,
                                          BlockFetch(std::move(sources), latency_.patience()));
  made->name = name;
  made->scope = scope;
  made->answer = std::move(answer);
  hunts_.insert(made);
  go_on(made);
}

void BlockAskerImpl::go_on(const SharedBlockHunt& hunt) {
  const base::Nanos now = node_.clock.now();
  const BlockFetch::Step step = hunt->fetch.next(now);
  for (const NodeId node : step.dropped) {
    latency_.note_failure(node, now);
    ++traffic_.failed;
    drop_line(hunt, node);
  }
  for (const NodeId node : step.late) latency_.note_late(node, now);
  if (step.is_over) return finish(hunt, nullptr);
  hunt->timer.expires_after(step.look_at - now);
  hunt->timer.async_wait([weak = weak_from_this(), hunt](const boost::system::error_code& error) {
    const auto self = error ? nullptr : weak.lock();
    if (self && hunt->answer) self->go_on(hunt);
  });
  if (step.ask) ask_peer(hunt, *step.ask);
}

void BlockAskerImpl::finish(const SharedBlockHunt& hunt, SharedBlock block) {
  hunt->timer.cancel();
  for (const auto& [node, line] : std::exchange(hunt->lines, {})) line->hang_up();
  hunts_.erase(hunt);
  std::exchange(hunt->answer, nullptr)(std::move(block));
}

void BlockAskerImpl::ask_peer(const SharedBlockHunt& hunt, NodeId node) {
  if (hunt->asked++ > 0 && !hunt->lines.empty()) ++traffic_.hedged;
  auto asking = std::make_shared<BlockAsking>();
  asking->hunt = hunt;
  asking->node = node;
  asking->since = node_.clock.now();
  asking->line = idle_line(node);
  asking->is_fresh = asking->line == nullptr;
  begin(asking);
}

void BlockAskerImpl::begin(const SharedBlockAsking& asking) {
  if (!asking->line) {
    asking->line =
        BlockLine::make(node_.executor, *pool_, next_lane_++, std::make_shared<wire::BulkStream>());
  }
  asking->id = next_id_++;
  asking->hunt->lines[asking->node] = asking->line;
  const auto peer = peers_.find(asking->node);
  if (peer == peers_.end()) return on_failed(asking);
  const auto submitted = asking->line->turn(
      [asking, keys = keys_, endpoint = peer->second.endpoint,
       name = wire::PeerName{run_id_, false, asking->node, peer->second.generation},
       question = wire::BlockQuestion{asking->id, asking->hunt->scope, asking->hunt->name}](
          wire::BulkStream& stream) {
        asking->status = begin_asking(stream, *keys, endpoint, name, asking->is_fresh, question);
      },
      [weak = weak_from_this(), asking] {
        const auto self = weak.lock();
        if (!self || !is_current(*asking)) return;
        if (!asking->status) return self->on_failed(asking);
        if (asking->is_fresh) {
          asking->hunt->fetch.on_life(asking->node, self->node_.clock.now());
        }
        self->hear(asking);
      });
  if (!submitted) on_failed(asking);
}

void BlockAskerImpl::hear(const SharedBlockAsking& asking) {
  asking->line->await([weak = weak_from_this(), asking] {
    const auto self = weak.lock();
    if (!self || !is_current(*asking)) return;
    const auto submitted = asking->line->turn(
        [asking](wire::BulkStream& stream) { asking->status = hear_block(stream, *asking); },
        [weak, asking] {
          const auto later = weak.lock();
          if (later && is_current(*asking)) later->on_heard(asking);
        });
    if (!submitted) self->on_failed(asking);
  });
}

void BlockAskerImpl::on_heard(const SharedBlockAsking& asking) {
  if (!asking->status) return on_failed(asking);
  const SharedBlockHunt& hunt = asking->hunt;
  const base::Nanos now = node_.clock.now();
  if (asking->said.verdict == wire::BlockVerdict::kComing) {
    asking->is_fresh = true;  // what was kept open still works
    hunt->fetch.on_sign(asking->node, now);
    return hear(asking);
  }
  hunt->lines.erase(asking->node);
  keep_line(asking->node, asking->line);
  hunt->fetch.on_end(asking->node);
  if (!asking->block) return go_on(hunt);
  latency_.note_block(asking->node, now - asking->since);
  ++traffic_.blocks;
  finish(hunt, asking->block);
}

void BlockAskerImpl::on_failed(const SharedBlockAsking& asking) {
  drop_line(asking->hunt, asking->node);
  if (!std::exchange(asking->is_fresh, true)) {  // the peer may have closed what was kept open
    asking->line = nullptr;
    return begin(asking);
  }
  ++traffic_.failed;
  if (!asking->status && asking->status.error().code == base::Errc::kCorrupt) {
    ++traffic_.corrupt;
    RR_LOG(kWarn, {}, "block {} of {} from node {}: {}; it is asked for elsewhere",
           asking->hunt->name.block, asking->hunt->name.blob, asking->node.value,
           asking->status.error().what);
  } else if (!asking->status) {
    RR_LOG(kDebug, {}, "node {} gives no block: {}", asking->node.value,
           asking->status.error().what);
  }
  latency_.note_failure(asking->node, node_.clock.now());
  asking->hunt->fetch.on_end(asking->node);
  // Not at once: whoever asks may be the one that calls us.
  boost::asio::post(node_.executor, [weak = weak_from_this(), hunt = asking->hunt] {
    const auto self = weak.lock();
    if (self && hunt->answer) self->go_on(hunt);
  });
}

void BlockAskerImpl::drop_line(const SharedBlockHunt& hunt, NodeId node) {
  const auto line = hunt->lines.find(node);
  if (line == hunt->lines.end()) return;
  line->second->hang_up();
  hunt->lines.erase(line);
}

SharedLine BlockAskerImpl::idle_line(NodeId node) {
  const auto found = std::ranges::find(idle_, node, &std::pair<NodeId, SharedLine>::first);
  if (found == idle_.end()) return nullptr;
  SharedLine line = found->second;
  idle_.erase(found);
  return line;
}

void BlockAskerImpl::keep_line(NodeId node, SharedLine line) {
  idle_.emplace_back(node, std::move(line));
  if (idle_.size() <= kIdleLinesMax) return;
  idle_.front().second->hang_up();
  idle_.erase(idle_.begin());
}

void BlockAskerImpl::abandon() {
  waiting_.clear();
  for (const SharedBlockHunt& hunt : std::exchange(hunts_, {})) {
    hunt->answer = nullptr;
    hunt->timer.cancel();
    for (const auto& [node, line] : std::exchange(hunt->lines, {})) line->hang_up();
  }
  for (const auto& [node, line] : std::exchange(idle_, {})) line->hang_up();
  pool_.reset();
}

}  // namespace

std::shared_ptr<BlockAsker> BlockAsker::make(NodeContext& node) {
  return std::make_shared<BlockAskerImpl>(node);
}

}  // namespace robustrun::agent
