#include "agent/copies/peer_copies.h"

#include <fmt/format.h>

#include <map>
#include <optional>
#include <utility>

#include "agent/copies/held_copies.h"
#include "agent/copies/limits.h"
#include "agent/copies/sender.h"
#include "agent/copies/transfer.h"
#include "base/io/log.h"
#include "base/io/timer.h"
#include "wire/bulk/bulk_listener.h"
#include "wire/link/acceptor.h"

namespace robustrun::agent {

class PeerCopies::Impl : public PeerMemory, public std::enable_shared_from_this<Impl> {
 public:
  Impl(NodeContext& node, MemoryTier& tier)
      : node_(node),
        tier_(tier),
        sender_(std::make_shared<CopySender>(node, tier)),
        held_(std::make_shared<HeldCopies>(
            node, [&tier](base::Rank rank) { return tier.same_memory_of(rank); })) {
    tier_.use_peers(this);
  }

  std::string open(const std::string& run_id, const wire::Identity& self,
                   const std::string& address);
  void share_listener(BlockHooks hooks) { blocks_ = std::move(hooks); }
  void place(const wire::PlaceCopies& order);
  void begin_round(const wire::CopyRound& order) { sender_->begin_round(order); }
  void abandon();
  void save(const wire::SaveHeldCopies& order) { held_->save(order); }
  void begin_attempt() { held_->begin_attempt(); }

  void fetch(base::Rank rank, std::function<void(GivenMemory)> answer) override;
  void adopt(base::Rank rank, GivenMemory given) override { held_->adopt(rank, std::move(given)); }
  void after_saving(std::function<void()> go) override { held_->after_saving(std::move(go)); }
  [[nodiscard]] bool is_kept(base::Rank rank) const override { return sender_->is_kept(rank); }

 private:
  struct Fetch {
    explicit Fetch(const boost::asio::any_io_executor& executor)
        : deadline(executor), pause(executor) {}
    base::Timer deadline;
    base::Timer pause;  // until the next try
    base::Nanos wait = kCopyRetryFirst;
    CopyPeer peer;
    base::Result<GivenMemory> got = base::fail(base::Errc::kTimeout, "it took too long");
    std::shared_ptr<wire::BulkStream> stream = std::make_shared<wire::BulkStream>();
    std::function<void(GivenMemory)> answer;
    std::function<void()> work;  // blocks; fills `got`
  };
  void let_in(wire::BulkConnection connection) {
    const bool wants_blocks = connection.request.purpose == wire::BulkPurpose::kBlocks;
    if (!wants_blocks) return held_->take(std::move(connection));
    if (blocks_.serve) blocks_.serve(std::move(connection));
  }
  void begin(base::Rank rank, const std::shared_ptr<Fetch>& fetch);
  void submit(base::Rank rank, const std::shared_ptr<Fetch>& fetch);
  void submit_again(base::Rank rank, const std::shared_ptr<Fetch>& fetch);
  void finish(base::Rank rank, const std::shared_ptr<Fetch>& fetch, bool late);

  NodeContext& node_;
  MemoryTier& tier_;
  std::string run_id_;
  std::string address_;
  wire::SharedBulkKeys keys_;
  const std::shared_ptr<CopySender> sender_;
  const std::shared_ptr<HeldCopies> held_;
  std::unique_ptr<wire::BulkListener> listener_;
  BlockHooks blocks_;
  // Where our ranks' copies are fetched from, once each.
  std::map<base::Rank, wire::CopyRoute> sources_;
  std::map<base::Rank, std::shared_ptr<Fetch>> fetches_;
  std::optional<base::BlockingPool> pool_;
};

std::string PeerCopies::Impl::open(const std::string& run_id, const wire::Identity& self,
                                   const std::string& address) {
  if (!listener_ || address != address_) {
    listener_.reset();
    auto keys = wire::make_bulk_keys(run_id, self);
    auto listener = keys ? wire::BulkListener::open(node_.executor, address, *keys,
                                                    [this](wire::BulkConnection connection) {
                                                      let_in(std::move(connection));
                                                    })
                         : std::unexpected(keys.error());
    if (!listener) {
      RR_LOG(kWarn, {}, "other nodes cannot keep copies here: {}", listener.error().what);
      return {};
    }
    listener_ = *std::move(listener);
    keys_ = *keys;
    run_id_ = run_id;
    address_ = address;
    sender_->use(run_id_, keys_);
    if (blocks_.use) blocks_.use(run_id_, keys_);
  }
  return wire::endpoint_text(address_, listener_->port());
}

void PeerCopies::Impl::place(const wire::PlaceCopies& order) {
  for (const auto* list : {&order.send, &order.hold, &order.fetch}) {
    if (list->size() <= kCopyRanksMax) continue;
    RR_LOG(kWarn, {}, "an order about copies in memory was dropped: it is too long");
    return;
  }
  held_->allow(order.hold);
  sources_.clear();
  for (const wire::CopyRoute& route : order.fetch) sources_.insert_or_assign(route.rank, route);
  sender_->place(order);
}

void PeerCopies::Impl::fetch(base::Rank rank, std::function<void(GivenMemory)> answer) {
  const bool with_board = is_kept(rank);
  auto fetch = std::make_shared<Fetch>(node_.executor);
  if (auto held = held_->hand_over(rank)) {
    if (!with_board || has_board(*held)) return answer(*std::move(held));
    fetch->answer = std::move(answer);
    fetch->got = *std::move(held);
    fetch->work = [at = fetch.get()] { at->got = widened(*std::move(at->got)); };
    return begin(rank, fetch);
  }
  const auto source = sources_.find(rank);
  if (source == sources_.end() || source->second.endpoint.empty() || !keys_) return answer({});
  const wire::CopyRoute route = std::exchange(source->second, {});
  sources_.erase(source);
  fetch->peer = {keys_, route.endpoint, {run_id_, false, route.node, route.generation}};
  fetch->answer = std::move(answer);
  fetch->work = [at = fetch.get(), rank, with_board] {
    at->got = fetch_copies(at->peer, rank, with_board, *at->stream);
  };
  begin(rank, fetch);
}

void PeerCopies::Impl::begin(base::Rank rank, const std::shared_ptr<Fetch>& fetch) {
  fetches_[rank] = fetch;
  if (!pool_) pool_.emplace(node_.executor, kCopyStreamThreads, kCopiesWaitingMax);
  submit(rank, fetch);
  if (!fetch->answer) return;
  fetch->deadline.after(kCopyFetchMax, [weak = weak_from_this(), rank, fetch] {
    if (const auto self = weak.lock()) self->finish(rank, fetch, true);
  });
}

void PeerCopies::Impl::submit(base::Rank rank, const std::shared_ptr<Fetch>& fetch) {
  const auto submitted = pool_->submit(
      rank.value, [fetch] { fetch->work(); },
      [weak = weak_from_this(), rank, fetch] {
        const auto self = weak.lock();
        if (self) self->finish(rank, fetch, false);
      });
  if (!submitted) finish(rank, fetch, true);
}

// A copy was still arriving at the peer, from a node that is lost: that ends soon.
void PeerCopies::Impl::submit_again(base::Rank rank, const std::shared_ptr<Fetch>& fetch) {
  fetch->stream = std::make_shared<wire::BulkStream>();
  fetch->pause.after(fetch->wait, [weak = weak_from_this(), rank, fetch] {
    const auto self = weak.lock();
    if (self && fetch->answer) self->submit(rank, fetch);
  });
  fetch->wait = std::min<base::Nanos>(2 * fetch->wait, kCopyBusyRetryMax);
}

// `late`: the thread is still at work, and `got` belongs to it.
void PeerCopies::Impl::finish(base::Rank rank, const std::shared_ptr<Fetch>& fetch, bool late) {
  if (!fetch->answer) return;
  const bool is_busy =
      !late && fetch->peer.keys && !fetch->got && fetch->got.error().code == base::Errc::kConflict;
  if (is_busy) return submit_again(rank, fetch);
  fetch->deadline.cancel();
  fetch->pause.cancel();
  const auto answer = std::exchange(fetch->answer, nullptr);
  fetches_.erase(rank);
  if (!late && fetch->got) return answer(*std::move(fetch->got));
  fetch->stream->hang_up();
  RR_LOG(kWarn, {.rank = rank}, "its state is not taken from the memory of {}: {}",
         fetch->peer.keys ? fmt::format("node {}", fetch->peer.name.node.value) : "this node",
         late ? "it took too long" : fetch->got.error().what);
  answer({});
}

void PeerCopies::Impl::abandon() {
  tier_.use_peers(nullptr);
  listener_.reset();
  for (const auto& [rank, fetch] : std::exchange(fetches_, {})) {
    fetch->deadline.cancel();
    fetch->pause.cancel();
    fetch->answer = nullptr;
    fetch->stream->hang_up();
  }
  pool_.reset();
  sender_->abandon();
  held_->abandon();
}

PeerCopies::PeerCopies(NodeContext& node, MemoryTier& tier)
    : impl_(std::make_shared<Impl>(node, tier)) {}
PeerCopies::~PeerCopies() { impl_->abandon(); }

std::string PeerCopies::open(const std::string& run_id, const wire::Identity& self,
                             const std::string& address) {
  return impl_->open(run_id, self, address);
}

void PeerCopies::share_listener(BlockHooks hooks) { impl_->share_listener(std::move(hooks)); }

bool PeerCopies::take(const wire::Message& message) {
  if (const auto* place = std::get_if<wire::PlaceCopies>(&message)) {
    impl_->place(*place);
  } else if (const auto* save = std::get_if<wire::SaveHeldCopies>(&message)) {
    impl_->save(*save);
  } else if (const auto* round = std::get_if<wire::CopyRound>(&message)) {
    impl_->begin_round(*round);
  } else {
    return false;
  }
  return true;
}

void PeerCopies::begin_attempt() { impl_->begin_attempt(); }

}  // namespace robustrun::agent
