#include "agent/copies/sender.h"

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <optional>
#include <utility>

#include "agent/copies/limits.h"
#include "agent/copies/memory.h"
#include "agent/copies/round_part.h"
#include "agent/copies/transfer.h"
#include "agent/node/limits.h"
#include "base/io/blocking_pool.h"
#include "base/io/log.h"
#include "wire/bulk/pace.h"

namespace robustrun::agent {
namespace {

// Input and result of the thread that sends a copy.
struct SendTask {
  base::Rank rank;
  std::uint64_t serial = 0;
  GivenMemory given;
  std::optional<RoundPart::Due> due;  // none: send the newest copy
  std::optional<CopyPeer> peer;  // none: only look at what there is
  std::shared_ptr<wire::BulkPace> pace;
  std::shared_ptr<wire::BulkStream> stream;
  base::Status status;
  std::uint64_t sequence = 0;  // of the copy; 0: there was none
  std::uint64_t step = 0;

  void run() { status = send(); }

 private:
  base::Status send() {
    const CopyView view = RR_TRY(CopyView::of(given.memory, given.bytes));
    const auto found = due ? view.copy_in(due->slot) : newest_in(view);
    if (!found) return base::fail(base::Errc::kConflict, "there is no complete copy");
    sequence = found->copy.sequence;
    step = found->copy.manifest.head.attempt.step;
    if (!peer) return {};
    const auto round = due ? std::optional(due->round) : std::nullopt;
    return send_copy(*peer, rank, *found, round, *pace, *stream);
  }
  static std::optional<CopyView::Found> newest_in(const CopyView& view) {
    std::vector<CopyView::Found> copies = view.complete_copies();
    return copies.empty() ? std::nullopt : std::optional(std::move(copies.front()));
  }
};

class CopySenderImpl final : public CopySender,
                             public std::enable_shared_from_this<CopySenderImpl> {
 public:
  CopySenderImpl(NodeContext& node, MemoryTier& tier)
      : node_(node),
        tier_(tier),
        timer_(node.executor),
        pace_(std::make_shared<wire::BulkPace>(rate_)) {}

  void use(std::string run_id, wire::SharedBulkKeys keys) override;
  void place(const wire::PlaceCopies& order) override;
  void begin_round(const wire::CopyRound& order) override;
  [[nodiscard]] bool is_kept(base::Rank rank) const override { return route_of(rank) != nullptr; }
  void abandon() override;

 private:
  struct Sent {
    std::uint64_t serial = 0;  // of the memory
    std::uint64_t over = 0;    // sequence of the newest copy that was handled; 0: none
    std::uint64_t step = 0;
    std::uint64_t turn = 0;    // the lowest has waited longest
    bool here = false;
    bool at_peer = false;
    bool failed = false;       // and logged
    base::Nanos not_before{};
    std::chrono::milliseconds wait{};
    std::shared_ptr<RoundPart> part;  // null: its memory has no board
    bool is_part_reported = false;
    [[nodiscard]] bool is_in_round() const { return part && part->is_in_round(); }
    [[nodiscard]] bool is_reportable() const { return here || at_peer; }
  };

  void look();
  void look_again();
  bool look_at(const MemoryTier::Own& own, Sent& sent);
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
  std::optional<base::Attempt> attempt_;  // none: no copies were ordered
  std::optional<wire::CopyRound> round_;  // of that attempt
  std::vector<wire::CopyRoute> routes_;
  std::map<base::Rank, Sent> sent_;
  std::uint64_t rate_ = kCopiesBytesPerSecond;
  std::shared_ptr<wire::BulkPace> pace_;
  std::shared_ptr<wire::BulkStream> running_;
  std::uint64_t turns_ = 0;
  bool unreported_ = false;
  base::Nanos reported_at_{};
  std::optional<base::BlockingPool> pool_;  // made when first needed
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

void CopySenderImpl::place(const wire::PlaceCopies& order) {
  const auto is_same = [](const wire::CopyRoute& a, const wire::CopyRoute* b) {
    return b != nullptr && a.node == b->node && a.generation == b->generation &&
           a.endpoint == b->endpoint;
  };
  const std::vector<wire::CopyRoute> before = std::exchange(routes_, order.send);
  const std::uint64_t rate = std::max(order.rate.value_or(kCopiesBytesPerSecond), kCopiesSlowest);
  if (std::exchange(rate_, rate) != rate) pace_ = std::make_shared<wire::BulkPace>(rate_);
  if (attempt_ != order.attempt) {
    round_.reset();
    for (auto& [rank, sent] : sent_) {
      if (sent.part) sent.part->begin_attempt();
    }
  }
  for (auto& [rank, sent] : sent_) {
    const auto old = std::ranges::find(before, rank, &wire::CopyRoute::rank);
    const wire::CopyRoute* const now = route_of(rank);
    if (old == before.end() ? now == nullptr : is_same(*old, now)) continue;
    sent.at_peer = sent.failed = false;
    sent.over = 0;
    sent.not_before = {};
    sent.wait = {};
    if (sent.part) sent.part->send_again();
  }
  unreported_ = true;
  if (!std::exchange(attempt_, order.attempt)) look_again();
}

// Transfers for any other purpose are not wanted any more.
void CopySenderImpl::begin_round(const wire::CopyRound& order) {
  if (attempt_ != order.attempt || order.round == 0) return;
  if (round_ && round_->round == order.round) return;  // repeated to an agent that has reconnected
  round_ = order;
  for (auto& [rank, sent] : sent_) {
    if (!sent.part) continue;
    sent.part->begin(order);
    sent.not_before = {};
    sent.wait = {};
  }
  if (running_) running_->hang_up();
  unreported_ = true;
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
  bool changed = std::exchange(unreported_, false);
  for (const MemoryTier::Own& own : all) {
    Sent& sent = now[own.rank];
    const auto known = sent_.find(own.rank);
    if (known != sent_.end()) sent = known->second;
    changed = look_at(own, sent) || changed;
    const SlotHint hint = newest_hint(*own.given);
    changed = std::exchange(sent.here, hint.complete) != hint.complete || changed;
    const bool is_due = sent.is_in_round() ? sent.part->due().has_value()
                                           : hint.complete && hint.sequence != sent.over;
    if (!is_due || time < sent.not_before) continue;
    if (next == nullptr || sent.turn < now[next->rank].turn) next = &own;
  }
  changed = changed || now.size() < sent_.size();
  sent_ = std::move(now);
  if (!running_ && next != nullptr) start(next->rank, *next->given);
  report(changed);
}

// True: its part in rounds has changed.
bool CopySenderImpl::look_at(const MemoryTier::Own& own, Sent& sent) {
  if (std::exchange(sent.serial, own.serial) != own.serial) {
    sent.over = 0;
    auto part = RoundPart::of(*own.given);
    sent.part = part ? std::make_shared<RoundPart>(*std::move(part)) : nullptr;
    if (sent.part && round_) sent.part->begin(*round_);
  }
  if (!sent.part) return false;
  const bool was_reported = sent.is_part_reported;
  sent.is_part_reported = sent.part->report().has_value();
  return sent.part->look() || was_reported != sent.is_part_reported;
}

void CopySenderImpl::start(base::Rank rank, const GivenMemory& given) {
  auto same = same_memory(given);
  if (!same) return;
  auto task = std::make_shared<SendTask>();
  task->rank = rank;
  task->serial = sent_[rank].serial;
  task->given = *std::move(same);
  if (const Sent& sent = sent_[rank]; sent.is_in_round()) task->due = sent.part->due();
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
    return;  // the situation has changed meanwhile
  }
  Sent& sent = found->second;
  const bool was_in_round = task.due.has_value();
  if (was_in_round != sent.is_in_round() ||
      (was_in_round && task.due->round.round != round_->round)) {
    return;
  }
  if (task.sequence > 0) sent.step = task.step;
  if (was_in_round && (task.status || task.status.error().code == base::Errc::kLimit)) {
    sent.part->note_sent(task.due->round.round, task.status.has_value());
    unreported_ = true;
  }
  if (!task.status) return on_failed(rank, sent, task.status.error());
  sent.over = task.sequence;
  sent.wait = {};
  sent.failed = false;
  unreported_ = unreported_ || sent.at_peer != was_routed;
  sent.at_peer = was_routed;
}

void CopySenderImpl::on_failed(base::Rank rank, Sent& sent, const base::Error& error) {
  if (error.code == base::Errc::kNotFound) {
    unreported_ = unreported_ || sent.at_peer;
    sent.at_peer = false;
  }
  sent.wait = std::clamp(sent.wait * 2, kCopyRetryFirst, kCopyRetryMax);
  // The worker has a newer copy now, or the peer will soon be ready: no failure.
  if (error.code == base::Errc::kConflict) sent.wait = kCopiesLookEvery;
  sent.not_before = node_.clock.now() + base::Nanos(sent.wait);
  if (error.code == base::Errc::kConflict || std::exchange(sent.failed, true)) return;
  RR_LOG(kWarn, {.rank = rank}, "its state in memory has no second copy yet: {}", error.what);
}

void CopySenderImpl::report(bool changed) {
  const base::Nanos now = node_.clock.now();
  if (!attempt_ || (!changed && now - reported_at_ < kCopiesKeptInterval)) return;
  wire::CopiesKept kept{*attempt_, {}};
  for (const auto& [rank, sent] : sent_) {
    if (!sent.is_reportable()) continue;
    wire::KeptCopy copy{rank, sent.here, sent.at_peer, sent.step, {}};
    if (sent.part && is_kept(rank)) {
      copy.part = sent.part->report();
      copy.step = sent.part->newest_step().value_or(copy.step);
    }
    kept.copies.push_back(copy);
  }
  if (kept.copies.empty() && !changed) return;
  reported_at_ = now;
  node_.send(kept);
}

}  // namespace

std::shared_ptr<CopySender> CopySender::make(NodeContext& node, MemoryTier& tier) {
  return std::make_shared<CopySenderImpl>(node, tier);
}

}  // namespace robustrun::agent
