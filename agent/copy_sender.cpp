#include "agent/copy_sender.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <optional>
#include <utility>

#include "agent/copy_limits.h"
#include "agent/copy_memory.h"
#include "agent/copy_transfer.h"
#include "agent/limits.h"
#include "base/io/blocking_pool.h"
#include "base/io/log.h"
#include "wire/bulk_pace.h"

namespace robustrun::agent {
namespace {

// What a thread needs to send a copy, and what came of it.
struct SendTask {
  base::Rank rank;
  std::uint64_t serial = 0;
  GivenMemory given;
  std::optional<CopyPeer> peer;  // none: only a look at what there is
  std::shared_ptr<wire::BulkPace> pace;
  std::shared_ptr<wire::BulkStream> stream;
  base::Status status;
  std::uint64_t sequence = 0;  // of the copy; 0: there was none
  std::uint64_t step = 0;

  void run() { status = send(); }

 private:
  base::Status send() {
    const CopyView view = RR_TRY(CopyView::of(given.memory, given.bytes));
    const std::vector<CopyView::Found> copies = view.complete_copies();
    if (copies.empty()) return base::fail(base::Errc::kConflict, "there is no complete copy");
    const CopyView::Found& newest = copies.front();
    sequence = newest.copy.sequence;
    step = newest.copy.manifest.head.attempt.step;
    return peer ? send_copy(*peer, rank, newest, *pace, *stream) : base::Status();
  }
};

class CopySenderImpl final : public CopySender,
                             public std::enable_shared_from_this<CopySenderImpl> {
 public:
  CopySenderImpl(NodeContext& node, MemoryTier& tier)
      : node_(node),
        tier_(tier),
        timer_(node.executor),
        pace_(std::make_shared<wire::BulkPace>(kCopiesBytesPerSecond)) {}

  void use(std::string run_id, wire::SharedBulkKeys keys) override;
  void place(base::Attempt attempt, std::vector<wire::CopyRoute> send) override;
  void abandon() override;

 private:
  struct Sent {
    std::uint64_t serial = 0;  // of the memory
    std::uint64_t over = 0;    // sequence of the newest that was dealt with; 0: none
    std::uint64_t step = 0;
    std::uint64_t turn = 0;    // the lower, the longer it waits
    bool here = false;
    bool at_peer = false;
    bool failed = false;       // and it was said
    base::Nanos not_before{};
    std::chrono::milliseconds wait{};
    [[nodiscard]] bool is_told() const { return here || at_peer; }
  };

  void look();
  void look_again();
  void start(base::Rank rank, const GivenMemory& given);
  void on_done(base::Rank rank, const SendTask& task);
  void on_failed(base::Rank rank, Sent& sent, const base::Error& error);
  void report(bool changed);
  [[nodiscard]] const wire::CopyRoute* route_of(base::Rank rank) const;

  NodeContext& node_;
  MemoryTier& tier_;
  boost::asio::steady_timer timer_;
  std::string run_id_;
  wire::SharedBulkKeys keys_;
  std::optional<base::Attempt> attempt_;  // none: nobody has asked
  std::vector<wire::CopyRoute> routes_;
  std::map<base::Rank, Sent> sent_;
  std::shared_ptr<wire::BulkPace> pace_;
  std::shared_ptr<wire::BulkStream> running_;
  std::uint64_t turns_ = 0;
  bool untold_ = false;
  base::Nanos told_at_{};
  std::optional<base::BlockingPool> pool_;  // made when needed for the first time
};

void CopySenderImpl::abandon() {
  timer_.cancel();
  if (running_) running_->hang_up();
  pool_.reset();
}

void CopySenderImpl::use(std::string run_id, wire::SharedBulkKeys keys) {
  run_id_ = std::move(run_id);
  keys_ = std::move(keys);
}

const wire::CopyRoute* CopySenderImpl::route_of(base::Rank rank) const {
  const auto found = std::ranges::find(routes_, rank, &wire::CopyRoute::rank);
  return found == routes_.end() || found->endpoint.empty() ? nullptr : &*found;
}

void CopySenderImpl::place(base::Attempt attempt, std::vector<wire::CopyRoute> send) {
  const auto is_same = [](const wire::CopyRoute& a, const wire::CopyRoute* b) {
    return b != nullptr && a.node == b->node && a.generation == b->generation &&
           a.endpoint == b->endpoint;
  };
  const std::vector<wire::CopyRoute> before = std::exchange(routes_, std::move(send));
  for (auto& [rank, sent] : sent_) {
    const auto old = std::ranges::find(before, rank, &wire::CopyRoute::rank);
    const wire::CopyRoute* const now = route_of(rank);
    if (old == before.end() ? now == nullptr : is_same(*old, now)) continue;
    sent.at_peer = sent.failed = false;
    sent.over = 0;
    sent.not_before = {};
    sent.wait = {};
  }
  untold_ = true;
  if (!std::exchange(attempt_, attempt)) look_again();
}

void CopySenderImpl::look_again() {
  timer_.expires_after(kCopiesLookEvery);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = error ? nullptr : weak.lock();
    if (!self) return;
    self->look();
    self->look_again();
  });
}

void CopySenderImpl::look() {
  std::map<base::Rank, Sent> now;
  const MemoryTier::Own* next = nullptr;
  const base::Nanos time = node_.clock.now();
  const std::vector<MemoryTier::Own> all = tier_.memories();
  bool changed = std::exchange(untold_, false);
  for (const MemoryTier::Own& own : all) {
    Sent& sent = now[own.rank];
    const auto known = sent_.find(own.rank);
    if (known != sent_.end()) sent = known->second;
    if (std::exchange(sent.serial, own.serial) != own.serial) sent.over = 0;
    const SlotHint hint = newest_hint(*own.given);
    changed = std::exchange(sent.here, hint.complete) != hint.complete || changed;
    const bool is_due = hint.complete && hint.sequence != sent.over && time >= sent.not_before;
    if (is_due && (next == nullptr || sent.turn < now[next->rank].turn)) next = &own;
  }
  changed = changed || now.size() < sent_.size();
  sent_ = std::move(now);
  if (!running_ && next != nullptr) start(next->rank, *next->given);
  report(changed);
}

void CopySenderImpl::start(base::Rank rank, const GivenMemory& given) {
  auto same = same_memory(given);
  if (!same) return;
  auto task = std::make_shared<SendTask>();
  task->rank = rank;
  task->serial = sent_[rank].serial;
  task->given = *std::move(same);
  task->pace = pace_;
  task->stream = running_ = std::make_shared<wire::BulkStream>();
  if (const wire::CopyRoute* route = route_of(rank); route != nullptr && keys_) {
    task->peer = CopyPeer{keys_, route->endpoint, {run_id_, false, route->node, route->generation}};
  }
  sent_[rank].turn = ++turns_;
  if (!pool_) pool_.emplace(node_.executor, 1, 1);
  const auto submitted = pool_->submit(
      kSingleLane, [task] { task->run(); },
      [weak = weak_from_this(), rank, task] {
        if (const auto self = weak.lock()) self->on_done(rank, *task);
      });
  if (!submitted) running_.reset();
}

void CopySenderImpl::on_done(base::Rank rank, const SendTask& task) {
  running_.reset();
  const auto found = sent_.find(rank);
  const wire::CopyRoute* const route = route_of(rank);
  const bool was_routed = task.peer.has_value();
  if (found == sent_.end() || found->second.serial != task.serial ||
      was_routed != (route != nullptr && keys_) ||
      (was_routed && (task.peer->endpoint != route->endpoint ||
                      task.peer->name.generation != route->generation))) {
    return;  // things have changed meanwhile
  }
  Sent& sent = found->second;
  if (task.sequence > 0) sent.step = task.step;
  if (!task.status) return on_failed(rank, sent, task.status.error());
  sent.over = task.sequence;
  sent.wait = {};
  sent.failed = false;
  untold_ = untold_ || sent.at_peer != was_routed;
  sent.at_peer = was_routed;
}

void CopySenderImpl::on_failed(base::Rank rank, Sent& sent, const base::Error& error) {
  if (error.code == base::Errc::kNotFound) {
    untold_ = untold_ || sent.at_peer;
    sent.at_peer = false;
  }
  sent.wait = std::clamp(sent.wait * 2, kCopyRetryFirst, kCopyRetryMax);
  // The worker has a newer copy now, or the peer is soon ready: nothing is wrong.
  if (error.code == base::Errc::kConflict) sent.wait = kCopiesLookEvery;
  sent.not_before = node_.clock.now() + base::Nanos(sent.wait);
  if (error.code == base::Errc::kConflict || std::exchange(sent.failed, true)) return;
  RR_LOG(kWarn, {.rank = rank}, "its state in memory has no second place yet: {}", error.what);
}

void CopySenderImpl::report(bool changed) {
  const base::Nanos now = node_.clock.now();
  if (!attempt_ || (!changed && now - told_at_ < kCopiesKeptInterval)) return;
  wire::CopiesKept kept{*attempt_, {}};
  for (const auto& [rank, sent] : sent_) {
    if (sent.is_told()) kept.copies.push_back({rank, sent.here, sent.at_peer, sent.step});
  }
  if (kept.copies.empty() && !changed) return;
  told_at_ = now;
  node_.send(kept);
}

}  // namespace

std::shared_ptr<CopySender> CopySender::make(NodeContext& node, MemoryTier& tier) {
  return std::make_shared<CopySenderImpl>(node, tier);
}

}  // namespace robustrun::agent
