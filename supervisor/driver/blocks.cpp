// Which nodes pass blocks on to each other: all that have joined, once all nodes of the run have,
// or some have and others are late. And blocks of the code, for nodes that get them from here.

#include <algorithm>

#include "supervisor/driver/impl.h"
#include "supervisor/limits.h"
#include "wire/messages/limits.h"

namespace robustrun::supervisor {

// With a list of only the first nodes these would read from storage what the others read as well.
// So the list waits for all nodes that were requested, but not for long: without a list each node
// reads everything by itself after a while. Nodes that join later get the list together, a moment
// later.
void Driver::Impl::share_blocks(bool is_formed) {
  if (!request_.workers.share_blocks || !agent_listener_ || finished_) return;
  const auto is_missing = [](const NodeLink& link) { return !link.joined && !link.lost; };
  // How many nodes will join an open group is unknown.
  const bool are_all_here = !request_.spec.group.open && std::ranges::none_of(nodes_, is_missing);
  if (is_formed || (!block_peers_ && are_all_here)) return list_block_peers(1);
  const base::Nanos now = parts_.clock.now();
  const bool is_on_its_way = blocks_since_ && now < *blocks_since_ + kBlockPeersFirst;
  if (!block_peers_ && is_on_its_way) return;
  if (!blocks_since_) blocks_since_ = now;
  const base::Nanos first = block_peers_ ? now : *blocks_since_ + kBlockPeersFirst;
  blocks_timer_.expires_after(std::max<base::Nanos>(kBlockPeersDelay, first - now));
  blocks_timer_.async_wait([self = weak_from_this()](const boost::system::error_code& error) {
    const auto driver = error ? nullptr : self.lock();
    if (driver && !driver->finished_) driver->list_block_peers(2);
  });
}

// The first list has at least so many.
void Driver::Impl::list_block_peers(std::size_t at_least) {
  wire::BlockPeers list;
  if (request_.network.peers_rate > 0) list.rate = request_.network.peers_rate;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    const NodeLink& link = nodes_[i];
    if (!link.joined || link.lost || link.bulk.empty()) continue;
    if (list.peers.size() == wire::kBlockPeersMax) break;  // further ones ask these
    list.peers.push_back({base::NodeId{i}, link.generation, link.bulk});
  }
  if (!block_peers_ && list.peers.size() < at_least) return;
  const bool is_known = block_peers_ && block_peers_->peers == list.peers;
  block_peers_ = std::move(list);
  if (is_known) return;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].joined && !nodes_[i].lost) send(base::NodeId{i}, *block_peers_);
  }
}

void Driver::Impl::on_report(base::NodeId node, const wire::CodeWanted& wanted) {
  if (!request_.workers.code || !parts_.read_code) return;
  parts_.read_code(wanted.block, [self = weak_from_this(), node,
                                  block = wanted.block](base::Result<std::string> bytes) {
    const auto driver = self.lock();
    if (!driver || driver->finished_) return;
    if (bytes) return driver->send(node, wire::CodeBlock{block, *std::move(bytes)});
    driver->send(node, wire::CodeBlock{block, {}, bytes.error().what});
  });
}

}  // namespace robustrun::supervisor
