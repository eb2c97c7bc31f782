#include "agent/copies/held_copies.h"

#include <algorithm>
#include <utility>

#include "agent/copies/limits.h"
#include "agent/copies/rescue.h"
#include "agent/copies/transfer.h"
#include "agent/node/limits.h"
#include "base/io/log.h"
#include "checkpoint/memory/staging.h"

namespace robustrun::agent {

// Input and result of the thread that receives a copy.
struct HeldArrival {
  wire::BulkRequest request;
  std::shared_ptr<wire::BulkStream> stream;
  std::shared_ptr<checkpoint::MemoryArea> area;  // null: new memory is needed
  std::optional<std::size_t> newest;
  SlotRounds rounds{};
  std::uint64_t complete = 0;  // the last complete round, as the sender says
  std::optional<std::size_t> touched;  // slot whose previous copy is gone
  std::optional<GivenMemory> made;
  base::Status status;

  void run();

 private:
  base::Status reserve();
  base::Status take();
  void choose_slot(const wire::BulkRound& round);
};

namespace {

using checkpoint::MemoryArea;
using wire::BulkVerdict;

}  // namespace

base::Status HeldArrival::reserve() {
  const std::uint64_t bytes = RR_TRY(checkpoint::area_bytes(request.slot_bytes));
  GivenMemory fresh = RR_TRY(reserve_copy_memory(bytes));
  GivenMemory mapped = RR_TRY(same_memory(fresh));
  MemoryArea made_area = RR_TRY(MemoryArea::shared(std::move(mapped.memory)));
  area = std::make_shared<MemoryArea>(std::move(made_area));
  made = std::move(fresh);
  newest.reset();
  rounds = {};
  return {};
}

// Neither the slot with the copy of the last complete round nor, without rounds, the slot with the
// newest complete copy.
void HeldArrival::choose_slot(const wire::BulkRound& round) {
  for (const std::size_t slot : {0UZ, 1UZ}) {
    const bool is_kept = round.complete != 0 && rounds[slot] == round.complete;
    if (is_kept || (round.round != 0 && rounds[1 - slot] == round.round)) newest = slot;
  }
  if (!newest) {
    for (const checkpoint::FoundCopy& found : checkpoint::complete_copies(*area)) {
      if (found.slot < rounds.size() && !newest) newest = found.slot;
    }
  }
  newest = 1 - newest.value_or(1);
}

void HeldArrival::run() {
  if (!area || area->slot_bytes() < request.slot_bytes) status = reserve();
  if (status) status = take();
}

base::Status HeldArrival::take() {
  RR_TRY(answer_bulk(*stream, {BulkVerdict::kGo, 0, {}}));
  wire::BulkRound round;
  if (request.purpose == wire::BulkPurpose::kKeepRound) round = RR_TRY(receive_round(*stream));
  choose_slot(round);
  complete = round.complete;
  rounds[*newest] = 0;
  touched = newest;
  RR_TRY(receive_copy(*stream, area->slot(*newest), request.bytes));
  rounds[*newest] = round.round;
  return {};
}

void HeldCopies::abandon() {
  linger_.cancel();
  for (const auto& run : runs_) run->abandon();
  for (auto& [rank, held] : held_) {
    if (held.stream) held.stream->hang_up();
  }
  streams_.reset();
  saver_.reset();
}

base::BlockingPool& HeldCopies::streams() {
  if (!streams_) streams_.emplace(node_.executor, kCopyStreamThreads, kCopyStreamsMax);
  return *streams_;
}

void HeldCopies::allow(const std::vector<wire::CopyRoute>& hold) {
  allowed_.clear();
  for (const wire::CopyRoute& route : hold) allowed_.insert_or_assign(route.rank, route);
  for (auto& [rank, held] : held_) {
    const auto allowed = allowed_.find(rank);
    if (allowed != allowed_.end()) held.saving = false;
  }
}

void HeldCopies::take(wire::BulkConnection connection) {
  if (connection.request.purpose == wire::BulkPurpose::kFetch) return serve(connection);
  const auto allowed = allowed_.find(connection.request.rank);
  if (allowed == allowed_.end() || allowed->second.node != connection.peer.node ||
      allowed->second.generation != connection.peer.generation) {
    return answer(connection.stream, BulkVerdict::kNone);
  }
  keep(std::move(connection));
}

void HeldCopies::answer(const std::shared_ptr<wire::BulkStream>& stream, BulkVerdict verdict) {
  // With too many waiting, the connection just ends.
  static_cast<void>(streams().submit(
      static_cast<std::uint32_t>(next_lane_++),
      [stream, verdict] {
        if (answer_bulk(*stream, {verdict, 0, {}})) stream->finish();
      },
      [] {}));
}

void HeldCopies::keep(wire::BulkConnection connection) {
  const base::Rank rank = connection.request.rank;
  Held& held = held_[rank];
  if (held.stream || held.saving) return answer(connection.stream, BulkVerdict::kBusy);
  auto arrival = std::make_shared<HeldArrival>();
  arrival->request = connection.request;
  arrival->stream = std::move(connection.stream);
  arrival->newest = held.newest;
  arrival->rounds = held.rounds;
  if (held.given.memory && !held.area) {
    if (auto same = same_memory(held.given)) {
      auto area = MemoryArea::shared(std::move(same->memory));
      if (area) held.area = std::make_shared<MemoryArea>(*std::move(area));
    }
  }
  arrival->area = held.area;
  held.stream = arrival->stream;
  const auto submitted = streams().submit(
      static_cast<std::uint32_t>(next_lane_++), [arrival] { arrival->run(); },
      [weak = weak_from_this(), rank, arrival] {
        if (const auto self = weak.lock()) self->on_arrived(rank, arrival);
      });
  if (submitted) return;
  held.stream.reset();
  if (!held.given.memory) held_.erase(rank);  // else adopt() would take it for a copy
}

void HeldCopies::on_arrived(base::Rank rank, const std::shared_ptr<HeldArrival>& arrival) {
  const auto found = held_.find(rank);
  if (found == held_.end() || found->second.stream != arrival->stream) return;
  Held& held = found->second;
  held.stream.reset();
  if (arrival->status) {
    held.rounds = arrival->rounds;
    held.complete = arrival->complete;
    if (arrival->made) held.given = *std::move(arrival->made);
    held.area = arrival->area;
    held.newest = arrival->newest;
    // Only now: the sender may report the copy to the supervisor, which may order it to be saved.
    return answer(arrival->stream, BulkVerdict::kKept);
  }
  if (!arrival->made && arrival->touched) {
    held.rounds = arrival->rounds;
    held.complete = arrival->complete;
    if (held.newest == arrival->touched) held.newest = 1 - *held.newest;
  }
  const base::Error& error = arrival->status.error();
  RR_LOG(kDebug, {.rank = rank}, "a copy from its node was not kept: {}", error.what);
  if (error.code == base::Errc::kCorrupt) answer(arrival->stream, BulkVerdict::kDamaged);
  if (error.code == base::Errc::kLimit) answer(arrival->stream, BulkVerdict::kNoRoom);
  if (!held.given.memory) held_.erase(found);
}

void HeldCopies::serve(const wire::BulkConnection& connection) {
  const base::Rank rank = connection.request.rank;
  const auto found = held_.find(rank);
  const bool is_held = found != held_.end() && found->second.given.memory;
  if (is_held && found->second.stream) return answer(connection.stream, BulkVerdict::kBusy);
  std::optional<GivenMemory> given;
  if (is_held) {
    if (auto same = same_memory(found->second.given)) given = *std::move(same);
  } else {
    given = own_(rank);
  }
  if (!given) return answer(connection.stream, BulkVerdict::kNone);
  if (is_held) found->second.stream = connection.stream;
  auto shared = std::make_shared<GivenMemory>(*std::move(given));
  const auto done = [weak = weak_from_this(), rank, stream = connection.stream] {
    const auto self = weak.lock();
    const auto held = self ? self->held_.find(rank) : decltype(self->held_.find(rank)){};
    if (self && held != self->held_.end() && held->second.stream == stream) {
      held->second.stream.reset();
    }
  };
  const auto submitted = streams().submit(
      static_cast<std::uint32_t>(next_lane_++),
      [stream = connection.stream, shared] { static_cast<void>(serve_copies(*stream, *shared)); },
      done);
  if (!submitted) done();
}

void HeldCopies::adopt(base::Rank rank, GivenMemory given) {
  if (held_.contains(rank) || !newest_hint(given).complete) {
    Held refused;
    refused.given = std::move(given);
    return free_elsewhere(std::move(refused));
  }
  held_[rank].given = std::move(given);
}

std::optional<GivenMemory> HeldCopies::hand_over(base::Rank rank) {
  const auto found = held_.find(rank);
  if (found == held_.end() || !newest_hint(found->second.given).complete) return std::nullopt;
  if (found->second.stream) found->second.stream->hang_up();
  GivenMemory given = std::move(found->second.given);
  held_.erase(found);
  allowed_.erase(rank);
  return given;
}

void HeldCopies::save(const wire::SaveHeldCopies& order) {
  auto saving = std::make_shared<Saving>(order);
  std::uint64_t bytes = 0;
  for (const base::Rank rank : order.ranks) {
    const auto found = held_.find(rank);
    if (found == held_.end() || !found->second.given.memory) continue;
    // Their node is lost: a copy that is still arriving will not be complete, and must not get in
    // the way.
    if (found->second.stream) found->second.stream->hang_up();
    found->second.saving = true;
    if (auto same = same_memory(found->second.given)) {
      const Held& held = found->second;
      std::optional<std::size_t> secured;
      for (std::size_t slot = 0; held.complete != 0 && slot < held.rounds.size(); ++slot) {
        if (held.rounds[slot] == held.complete) secured = slot;
      }
      bytes += slot_bytes_of(held.given);
      saving->memories.push_back({rank, std::move(same->memory), 0, secured});
    }
  }
  if (saving->memories.empty()) return finish_saving(*saving, {});
  if (!saver_) saver_.emplace(node_.executor, 1, kCopiesWaitingMax);
  auto run = RescueRun::start(node_.executor, node_.clock, *saver_, rescue_limits(bytes),
                              [saving](const RescueWatch& watch) {
                                const base::SystemClock clock;
                                return rescue_copies(std::move(saving->memories), clock, watch);
                              },
                              {[weak = weak_from_this(), saving] {
                                 if (const auto self = weak.lock()) self->go_on_saving(*saving);
                               },
                               [weak = weak_from_this(), saving](const RescueRun::Lines& lines) {
                                 if (const auto self = weak.lock())
                                   self->finish_saving(*saving, lines);
                               }});
  if (!run) return finish_saving(*saving, {{order.ranks.front(), true, run.error().what}});
  std::erase_if(runs_, [](const auto& each) { return !each->is_waited_for(); });
  runs_.push_back(*std::move(run));
}

void HeldCopies::after_saving(std::function<void()> go) {
  std::erase_if(runs_, [](const auto& each) { return !each->is_waited_for(); });
  if (runs_.empty()) return go();
  runs_.front()->when_over([weak = weak_from_this(), go = std::move(go)] {
    if (const auto self = weak.lock()) self->after_saving(go);
  });
}

// The next attempt begins, and its workers wait before they load or save.
void HeldCopies::go_on_saving(Saving& saving) {
  wire::HeldCopiesSaved answer{saving.order.attempt, saving.order.order, 0, {}};
  answer.saving = node_.workers.overlap_saves;
  if (!answer.saving) {
    answer.errors.emplace_back("copies of a lost node are still being saved; not waiting");
  }
  saving.answered = true;
  node_.send(answer);
  if (!answer.saving) return;
  after_saving([weak = weak_from_this(), over = wire::SavingOver{answer.made_in, answer.order}] {
    if (const auto self = weak.lock()) self->node_.send(over);
  });
}

void HeldCopies::finish_saving(Saving& saving, const RescueRun::Lines& lines) {
  wire::HeldCopiesSaved answer{saving.order.attempt, saving.order.order, 0, {}};
  for (const RescueLine& line : lines) {
    base::log_line(line.failed ? base::LogLevel::kWarn : base::LogLevel::kInfo, {.rank = line.rank},
                   line.text);
    if (line.failed) {
      answer.errors.push_back(line.text);
    } else {
      ++answer.saved;
    }
  }
  if (!std::exchange(saving.answered, true)) node_.send(answer);
}

void HeldCopies::begin_attempt() {
  linger_.after(kCopiesLinger, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self) self->free_unwanted();
  });
}

void HeldCopies::free_unwanted() {
  for (auto entry = held_.begin(); entry != held_.end();) {
    const auto at = entry++;
    if (allowed_.contains(at->first)) continue;
    if (at->second.stream) at->second.stream->hang_up();
    free_elsewhere(std::move(at->second));
    held_.erase(at);
  }
}

// Many gigabytes take the kernel seconds, in which the loop could not even send a heartbeat. All
// are in one lane, so that other work finds a thread. If the pool takes no more, it is freed here.
void HeldCopies::free_elsewhere(Held unwanted) {
  static_cast<void>(node_.pool.submit(
      kFreeLane, [unwanted = std::move(unwanted)]() mutable { unwanted = {}; }, {}));
}

}  // namespace robustrun::agent
