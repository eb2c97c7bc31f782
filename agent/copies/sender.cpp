#include "agent/copies/sender.h"

#include <algorithm>
#include <utility>

#include "agent/copies/memory.h"
#include "agent/copies/transfer.h"
#include "agent/node/limits.h"
#include "base/io/log.h"

namespace robustrun::agent {

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

CopySender::CopySender(NodeContext& node, MemoryTier& tier)
    : node_(node),
      tier_(tier),
      timer_(node.executor),
      pace_(std::make_shared<wire::BulkPace>(rate_)) {}

void CopySender::abandon() {
  timer_.cancel();
  if (running_) running_->hang_up();
  pool_.reset();
}

void CopySender::use(std::string run_id, wire::SharedBulkKeys keys) {
  run_id_ = std::move(run_id);
  keys_ = std::move(keys);
}

const wire::CopyRoute* CopySender::route_of(base::Rank rank) const {
  const auto found = std::ranges::find(routes_, rank, &wire::CopyRoute::rank);
  return found == routes_.end() || found->endpoint.empty() ? nullptr : &*found;
}

void CopySender::place(const wire::PlaceCopies& order) {
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
void CopySender::begin_round(const wire::CopyRound& order) {
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

void CopySender::look_again() {
  timer_.after(kCopiesLookEvery, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->look();
    self->look_again();
  });
}

void CopySender::look() {
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
bool CopySender::look_at(const MemoryTier::Own& own, Sent& sent) {
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

void CopySender::start(base::Rank rank, const GivenMemory& given) {
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

void CopySender::on_done(base::Rank rank, const SendTask& task) {
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

void CopySender::on_failed(base::Rank rank, Sent& sent, const base::Error& error) {
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

void CopySender::report(bool changed) {
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

}  // namespace robustrun::agent
