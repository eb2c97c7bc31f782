#include "supervisor/driver/block_sharing.h"

#include <algorithm>
#include <utility>

#include "supervisor/limits.h"
#include "wire/messages/limits.h"

namespace robustrun::supervisor {

BlockSharing::BlockSharing(const boost::asio::any_io_executor& executor, const base::Clock& clock,
                           NodeTable& nodes, Plan plan)
    : clock_(clock), nodes_(nodes), plan_(std::move(plan)), timer_(executor) {}

void BlockSharing::end() {
  timer_.cancel();
  goes_on_.reset();
}

void BlockSharing::on_connected_again(base::NodeId node) {
  on_joined();
  if (list_) nodes_.send(node, *list_);
}

void BlockSharing::share(bool is_formed) {
  if (!plan_.is_wanted || !goes_on_) return;
  bool are_all_here = !plan_.is_open;
  nodes_.each([&](base::NodeId, const NodeLink& link) {
    if (!link.joined && !link.lost) are_all_here = false;
  });
  if (is_formed || (!list_ && are_all_here)) return send_list(1);
  const base::Nanos now = clock_.now();
  if (!list_ && since_ && now < *since_ + kBlockPeersFirst) return;  // the timer runs
  if (!since_) since_ = now;
  const base::Nanos first = list_ ? now : *since_ + kBlockPeersFirst;
  timer_.after(std::max<base::Nanos>(kBlockPeersDelay, first - now), [this] { send_list(2); });
}

// The first list has at least so many.
void BlockSharing::send_list(std::size_t at_least) {
  wire::BlockPeers list;
  if (plan_.rate > 0) list.rate = plan_.rate;
  nodes_.each([&](base::NodeId node, const NodeLink& link) {
    if (!link.joined || link.lost || link.bulk.empty()) return;
    if (list.peers.size() == wire::kBlockPeersMax) return;  // further ones ask these
    list.peers.push_back({node, link.generation, link.bulk});
  });
  if (!list_ && list.peers.size() < at_least) return;
  const bool is_known = list_ && list_->peers == list.peers;
  list_ = std::move(list);
  if (is_known) return;
  nodes_.each([&](base::NodeId node, const NodeLink& link) {
    if (link.joined && !link.lost) nodes_.send(node, *list_);
  });
}

void BlockSharing::on_report(base::NodeId node, const wire::CodeWanted& wanted) {
  if (!plan_.read_code || !goes_on_) return;
  plan_.read_code(wanted.block, [this, goes_on = std::weak_ptr(goes_on_), node,
                                 block = wanted.block](base::Result<std::string> bytes) {
    if (goes_on.expired()) return;
    if (bytes) return nodes_.send(node, wire::CodeBlock{block, *std::move(bytes)});
    nodes_.send(node, wire::CodeBlock{block, {}, bytes.error().what});
  });
}

}  // namespace robustrun::supervisor
