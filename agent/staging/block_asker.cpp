#include "agent/staging/block_asker.h"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <utility>

#include "agent/staging/limits.h"
#include "base/io/log.h"
#include "base/io/timer.h"
#include "bootstrap/store/fetch_plan.h"
#include "wire/bulk/request.h"
#include "wire/messages/limits.h"

namespace robustrun::agent {

// One block that is being fetched.
struct BlockFetch {
  BlockFetch(const boost::asio::any_io_executor& executor, bootstrap::FetchPlan of)
      : plan(std::move(of)), timer(executor) {}
  wire::BlockName name;
  wire::BlockScope scope = wire::BlockScope::kAny;
  bootstrap::FetchPlan plan;
  base::Timer timer;
  BlockAnswered answer;
  // To peers that were asked and have not answered.
  std::map<base::NodeId, std::shared_ptr<BlockConnection>> connections;
  std::size_t asked = 0;
};

// The request to one peer for that block.
struct BlockRequest {
  std::shared_ptr<BlockFetch> fetch;
  base::NodeId node;
  std::shared_ptr<BlockConnection> connection;
  bool is_fresh = true;  // its connection was made for it
  std::uint32_t id = 0;
  base::Nanos since{};
  base::Status status;
  wire::BlockAnswer reply;
  SharedBlock block;
};

namespace {

using base::NodeId;
using bootstrap::FetchPlan;

base::Status send_request(wire::BulkStream& stream, const wire::BulkKeys& keys,
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

base::Status receive_block(wire::BulkStream& stream, BlockRequest& request) {
  const base::SystemClock clock;
  stream.set_deadline(clock.now() + base::Nanos(kBlockReceiveMax));
  std::array<char, wire::kBlockAnswerBytes> head{};
  RR_TRY(stream.receive(head));
  request.reply = RR_TRY(wire::parse_block_answer({head.data(), head.size()}));
  if (request.reply.id != request.id) {
    return base::fail(base::Errc::kProtocol, "the peer answered another question");
  }
  if (request.reply.verdict != wire::BlockVerdict::kHere) return {};
  std::string bytes(request.reply.bytes, '\0');
  RR_TRY(stream.receive(bytes));
  SharedBlock block = make_block(std::move(bytes));
  if (block->sum != request.reply.sum) {
    return base::fail(base::Errc::kCorrupt, "the received block does not match its checksum");
  }
  request.block = std::move(block);
  return {};
}

}  // namespace

void BlockAsker::use(std::string run_id, wire::SharedBulkKeys keys) {
  run_id_ = std::move(run_id);
  keys_ = std::move(keys);
}

bool BlockAsker::is_current(const BlockRequest& request) {
  const auto found = request.fetch->connections.find(request.node);
  return request.fetch->answer && found != request.fetch->connections.end() &&
         found->second == request.connection;
}

void BlockAsker::know(const wire::BlockPeers& list) {
  std::map<NodeId, wire::BlockPeer> peers;
  std::vector<NodeId> nodes;
  for (const wire::BlockPeer& peer : list.peers) {
    if (nodes.size() == wire::kBlockPeersMax) break;
    nodes.push_back(peer.node);
    peers.insert_or_assign(peer.node, peer);
  }
  // A node that came back at another address is a different process.
  std::erase_if(idle_, [&](const auto& idle) {
    const auto now = peers.find(idle.first);
    const auto before = peers_.find(idle.first);
    const bool is_same =
        now != peers.end() && before != peers_.end() && now->second == before->second;
    if (!is_same) idle.second->hang_up();
    return !is_same;
  });
  peers_ = std::move(peers);
  tree_.emplace(std::move(nodes));
  for (auto& [name, answer] : std::exchange(waiting_, {})) ask(name, std::move(answer));
}

void BlockAsker::ask(const wire::BlockName& name, BlockAnswered answer) {
  if (!tree_ && keys_ && node_.workers.share_blocks && waiting_.size() < kBlockFetchesMax) {
    waiting_.emplace_back(name, std::move(answer));
    return;
  }
  if (!tree_ || !keys_) return fetch(name, wire::BlockScope::kAny, {}, std::move(answer));
  const base::Nanos now = node_.clock.now();
  const auto is_out = [&](NodeId node) { return latency_.is_out(node, now); };
  auto sources = tree_->sources(name.blob, name.block, node_.self, is_out);
  auto scope = wire::BlockScope::kAny;
  if (sources.empty()) {
    sources = tree_->first_others(name.blob, name.block, node_.self, is_out);
    scope = wire::BlockScope::kStored;
  }
  fetch(name, scope, std::move(sources), std::move(answer));
}

void BlockAsker::ask_all(const wire::BlockName& name, NodeId first, BlockAnswered answer) {
  std::vector<NodeId> sources;
  if (tree_ && keys_) sources = tree_->nodes();
  std::erase(sources, node_.self);
  std::ranges::stable_partition(sources, [&](NodeId node) { return node == first; });
  fetch(name, wire::BlockScope::kOwn, std::move(sources), std::move(answer));
}

void BlockAsker::fetch(const wire::BlockName& name, wire::BlockScope scope,
                       std::vector<NodeId> sources, BlockAnswered answer) {
  if (sources.empty() || fetches_.size() >= kBlockFetchesMax) {
    boost::asio::post(node_.executor, [self = weak_from_this(), answer = std::move(answer)] {
      if (!self.expired()) answer(nullptr);
    });
    return;
  }
  if (!pool_) pool_.emplace(node_.executor, kBlockAskThreads, 4 * kBlockFetchesMax);
  auto made = std::make_shared<BlockFetch>(node_.executor,
                                           FetchPlan(std::move(sources), latency_.patience()));
  made->name = name;
  made->scope = scope;
  made->answer = std::move(answer);
  fetches_.insert(made);
  go_on(made);
}

void BlockAsker::go_on(const SharedFetch& fetch) {
  const base::Nanos now = node_.clock.now();
  const FetchPlan::Step step = fetch->plan.next(now);
  for (const NodeId node : step.dropped) {
    latency_.note_failure(node, now);
    ++traffic_.failed;
    drop_connection(fetch, node);
  }
  for (const NodeId node : step.late) latency_.note_late(node, now);
  if (step.is_over) return finish(fetch, nullptr);
  fetch->timer.after(step.look_at - now, [weak = weak_from_this(), fetch] {
    const auto self = weak.lock();
    if (self && fetch->answer) self->go_on(fetch);
  });
  if (step.ask) ask_peer(fetch, *step.ask);
}

void BlockAsker::finish(const SharedFetch& fetch, SharedBlock block) {
  fetch->timer.cancel();
  for (const auto& [node, connection] : std::exchange(fetch->connections, {}))
    connection->hang_up();
  fetches_.erase(fetch);
  std::exchange(fetch->answer, nullptr)(std::move(block));
}

void BlockAsker::ask_peer(const SharedFetch& fetch, NodeId node) {
  if (fetch->asked++ > 0 && !fetch->connections.empty()) ++traffic_.hedged;
  auto request = std::make_shared<BlockRequest>();
  request->fetch = fetch;
  request->node = node;
  request->since = node_.clock.now();
  request->connection = idle_connection(node);
  request->is_fresh = request->connection == nullptr;
  begin(request);
}

void BlockAsker::begin(const SharedRequest& request) {
  if (!request->connection) {
    request->connection = BlockConnection::make(node_.executor, *pool_, next_lane_++,
                                                std::make_shared<wire::BulkStream>());
  }
  request->id = next_id_++;
  request->fetch->connections[request->node] = request->connection;
  const auto peer = peers_.find(request->node);
  if (peer == peers_.end()) return on_failed(request);
  const auto submitted = request->connection->turn(
      [request, keys = keys_, endpoint = peer->second.endpoint,
       name = wire::PeerName{run_id_, false, request->node, peer->second.generation},
       question = wire::BlockQuestion{request->id, request->fetch->scope, request->fetch->name}](
          wire::BulkStream& stream) {
        request->status = send_request(stream, *keys, endpoint, name, request->is_fresh, question);
      },
      [weak = weak_from_this(), request] {
        const auto self = weak.lock();
        if (!self || !is_current(*request)) return;
        if (!request->status) return self->on_failed(request);
        if (request->is_fresh) {
          request->fetch->plan.on_life(request->node, self->node_.clock.now());
        }
        self->await_reply(request);
      });
  if (!submitted) on_failed(request);
}

void BlockAsker::await_reply(const SharedRequest& request) {
  request->connection->await([weak = weak_from_this(), request] {
    const auto self = weak.lock();
    if (!self || !is_current(*request)) return;
    const auto submitted = request->connection->turn(
        [request](wire::BulkStream& stream) { request->status = receive_block(stream, *request); },
        [weak, request] {
          const auto later = weak.lock();
          if (later && is_current(*request)) later->on_reply(request);
        });
    if (!submitted) self->on_failed(request);
  });
}

void BlockAsker::on_reply(const SharedRequest& request) {
  if (!request->status) return on_failed(request);
  const SharedFetch& fetch = request->fetch;
  const base::Nanos now = node_.clock.now();
  if (request->reply.verdict == wire::BlockVerdict::kComing) {
    request->is_fresh = true;  // the kept connection still works
    fetch->plan.on_sign(request->node, now);
    return await_reply(request);
  }
  fetch->connections.erase(request->node);
  keep_connection(request->node, request->connection);
  fetch->plan.on_end(request->node);
  if (!request->block) return go_on(fetch);
  latency_.note_block(request->node, now - request->since);
  ++traffic_.blocks;
  finish(fetch, request->block);
}

void BlockAsker::on_failed(const SharedRequest& request) {
  drop_connection(request->fetch, request->node);
  if (!std::exchange(request->is_fresh, true)) {  // the peer may have closed the kept connection
    request->connection = nullptr;
    return begin(request);
  }
  ++traffic_.failed;
  if (!request->status && request->status.error().code == base::Errc::kCorrupt) {
    ++traffic_.corrupt;
    RR_LOG(kWarn, {}, "block {} of {} from node {}: {}; another node is asked",
           request->fetch->name.block, request->fetch->name.blob, request->node.value,
           request->status.error().what);
  } else if (!request->status) {
    RR_LOG(kDebug, {}, "node {} gives no block: {}", request->node.value,
           request->status.error().what);
  }
  latency_.note_failure(request->node, node_.clock.now());
  request->fetch->plan.on_end(request->node);
  // Not at once: this may be called from within the caller's own request.
  boost::asio::post(node_.executor, [weak = weak_from_this(), fetch = request->fetch] {
    const auto self = weak.lock();
    if (self && fetch->answer) self->go_on(fetch);
  });
}

void BlockAsker::drop_connection(const SharedFetch& fetch, NodeId node) {
  const auto connection = fetch->connections.find(node);
  if (connection == fetch->connections.end()) return;
  connection->second->hang_up();
  fetch->connections.erase(connection);
}

BlockAsker::SharedConnection BlockAsker::idle_connection(NodeId node) {
  const auto found = std::ranges::find(idle_, node, &std::pair<NodeId, SharedConnection>::first);
  if (found == idle_.end()) return nullptr;
  SharedConnection connection = found->second;
  idle_.erase(found);
  return connection;
}

void BlockAsker::keep_connection(NodeId node, SharedConnection connection) {
  if (!peers_.contains(node)) return connection->hang_up();  // a list without it came meanwhile
  idle_.emplace_back(node, std::move(connection));
  if (idle_.size() <= kIdleConnectionsMax) return;
  idle_.front().second->hang_up();
  idle_.erase(idle_.begin());
}

void BlockAsker::abandon() {
  waiting_.clear();
  for (const SharedFetch& fetch : std::exchange(fetches_, {})) {
    fetch->answer = nullptr;
    fetch->timer.cancel();
    for (const auto& [node, connection] : std::exchange(fetch->connections, {}))
      connection->hang_up();
  }
  for (const auto& [node, connection] : std::exchange(idle_, {})) connection->hang_up();
  pool_.reset();
}

}  // namespace robustrun::agent
