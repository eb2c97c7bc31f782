#include "agent/copies/held_copies.h"

#include <algorithm>
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <utility>

#include "agent/copies/limits.h"
#include "agent/copies/rescue.h"
#include "agent/copies/rescue_run.h"
#include "agent/copies/transfer.h"
#include "agent/node/limits.h"
#include "base/io/blocking_pool.h"
#include "base/io/log.h"
#include "checkpoint/memory/memory_area.h"

namespace robustrun::agent {
namespace {

using checkpoint::MemoryArea;
using wire::BulkVerdict;

// The rounds whose copies are in a rank's slots (CopyRound); 0: none.
using SlotRounds = std::array<std::uint64_t, checkpoint::kCopiesWithoutBoard>;

// Input and result of the thread that receives a copy.
struct Arrival {
  wire::BulkRequest request;
  std::shared_ptr<wire::BulkStream> stream;
  std::shared_ptr<MemoryArea> area;  // null: new memory is needed
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

base::Status Arrival::reserve() {
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
void Arrival::choose_slot(const wire::BulkRound& round) {
  for (const std::size_t slot : {0UZ, 1UZ}) {
    const bool is_kept = round.complete != 0 && rounds[slot] == round.complete;
    if (is_kept || (round.round != 0 && rounds[1 - slot] == round.round)) newest = slot;
  }
  if (!newest) {
    const auto is_whole = [](std::span<const char> slot) {
      return checkpoint::read_slot(slot).has_value();
    };
    newest = is_whole(area->slot(0)) ? 0 : 1;
  }
  newest = 1 - *newest;
}

void Arrival::run() {
  if (!area || area->slot_bytes() < request.slot_bytes) status = reserve();
  if (status) status = take();
}

base::Status Arrival::take() {
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

struct HeldSaving {
  wire::SaveHeldCopies order;
  std::vector<RescuedMemory> memories;
  bool answered = false;
};

class HeldCopiesImpl final : public HeldCopies,
                             public std::enable_shared_from_this<HeldCopiesImpl> {
 public:
  HeldCopiesImpl(NodeContext& node, OwnMemory own)
      : node_(node), own_(std::move(own)), linger_(node.executor) {}

  void allow(const std::vector<wire::CopyRoute>& hold) override;
  void take(wire::BulkConnection connection) override;
  void adopt(base::Rank rank, GivenMemory given) override;
  std::optional<GivenMemory> hand_over(base::Rank rank) override;
  void save(const wire::SaveHeldCopies& order) override;
  void after_saving(std::function<void()> go) override;
  void begin_attempt() override;
  void abandon() override;

 private:
  struct Held {
    GivenMemory given;
    std::shared_ptr<checkpoint::MemoryArea> area;  // of `given`, while copies arrive
    std::optional<std::size_t> newest;  // slot of the last copy that arrived
    SlotRounds rounds{};
    std::uint64_t complete = 0;  // the last complete round, as its node last said
    std::shared_ptr<wire::BulkStream> stream;  // the transfer under way, in either direction
    bool saving = false;
  };
  base::BlockingPool& streams();
  void keep(wire::BulkConnection connection);
  void serve(const wire::BulkConnection& connection);
  void answer(const std::shared_ptr<wire::BulkStream>& stream, wire::BulkVerdict verdict);
  void on_arrived(base::Rank rank, const std::shared_ptr<Arrival>& arrival);
  void finish_saving(HeldSaving& saving, const RescueRun::Lines& lines);
  void go_on_saving(HeldSaving& saving);
  void free_unwanted();

  NodeContext& node_;
  OwnMemory own_;
  std::map<base::Rank, Held> held_;
  std::map<base::Rank, wire::CopyRoute> allowed_;
  std::optional<base::BlockingPool> streams_, saver_;  // made when first needed
  std::vector<std::shared_ptr<RescueRun>> runs_;  // rescues that are waited for
  boost::asio::steady_timer linger_;
  std::uint64_t next_lane_ = 0;
};

void HeldCopiesImpl::abandon() {
  linger_.cancel();
  for (const auto& run : runs_) run->abandon();
  for (auto& [rank, held] : held_) {
    if (held.stream) held.stream->hang_up();
  }
  streams_.reset();
  saver_.reset();
}

base::BlockingPool& HeldCopiesImpl::streams() {
  if (!streams_) streams_.emplace(node_.executor, kCopyStreamThreads, kCopyStreamsMax);
  return *streams_;
}

void HeldCopiesImpl::allow(const std::vector<wire::CopyRoute>& hold) {
  allowed_.clear();
  for (const wire::CopyRoute& route : hold) allowed_.insert_or_assign(route.rank, route);
  for (auto& [rank, held] : held_) {
    const auto allowed = allowed_.find(rank);
    if (allowed != allowed_.end()) held.saving = false;
  }
}

void HeldCopiesImpl::take(wire::BulkConnection connection) {
  if (connection.request.purpose == wire::BulkPurpose::kFetch) return serve(connection);
  const auto allowed = allowed_.find(connection.request.rank);
  if (allowed == allowed_.end() || allowed->second.node != connection.peer.node ||
      allowed->second.generation != connection.peer.generation) {
    return answer(connection.stream, BulkVerdict::kNone);
  }
  keep(std::move(connection));
}

void HeldCopiesImpl::answer(const std::shared_ptr<wire::BulkStream>& stream, BulkVerdict verdict) {
  // With too many waiting, the connection just ends.
  static_cast<void>(streams().submit(
      static_cast<std::uint32_t>(next_lane_++),
      [stream, verdict] {
        if (answer_bulk(*stream, {verdict, 0, {}})) stream->finish();
      },
      [] {}));
}

void HeldCopiesImpl::keep(wire::BulkConnection connection) {
  const base::Rank rank = connection.request.rank;
  Held& held = held_[rank];
  if (held.stream || held.saving) return answer(connection.stream, BulkVerdict::kBusy);
  auto arrival = std::make_shared<Arrival>();
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
  if (!submitted) held.stream.reset();
}

void HeldCopiesImpl::on_arrived(base::Rank rank, const std::shared_ptr<Arrival>& arrival) {
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

void HeldCopiesImpl::serve(const wire::BulkConnection& connection) {
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

void HeldCopiesImpl::adopt(base::Rank rank, GivenMemory given) {
  if (held_.contains(rank) || !newest_hint(given).complete) return;
  held_[rank].given = std::move(given);
}

std::optional<GivenMemory> HeldCopiesImpl::hand_over(base::Rank rank) {
  const auto found = held_.find(rank);
  if (found == held_.end() || !newest_hint(found->second.given).complete) return std::nullopt;
  if (found->second.stream) found->second.stream->hang_up();
  GivenMemory given = std::move(found->second.given);
  held_.erase(found);
  allowed_.erase(rank);
  return given;
}

void HeldCopiesImpl::save(const wire::SaveHeldCopies& order) {
  auto saving = std::make_shared<HeldSaving>(order);
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

void HeldCopiesImpl::after_saving(std::function<void()> go) {
  std::erase_if(runs_, [](const auto& each) { return !each->is_waited_for(); });
  if (runs_.empty()) return go();
  runs_.front()->when_over([weak = weak_from_this(), go = std::move(go)] {
    if (const auto self = weak.lock()) self->after_saving(go);
  });
}

// The next attempt begins, and its workers wait before they load or save.
void HeldCopiesImpl::go_on_saving(HeldSaving& saving) {
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

void HeldCopiesImpl::finish_saving(HeldSaving& saving, const RescueRun::Lines& lines) {
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

void HeldCopiesImpl::begin_attempt() {
  linger_.expires_after(kCopiesLinger);
  linger_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = error ? nullptr : weak.lock();
    if (self) self->free_unwanted();
  });
}

void HeldCopiesImpl::free_unwanted() {
  std::erase_if(held_, [this](auto& entry) {
    if (allowed_.contains(entry.first)) return false;
    if (entry.second.stream) entry.second.stream->hang_up();
    return true;
  });
}

}  // namespace

std::shared_ptr<HeldCopies> HeldCopies::make(NodeContext& node, OwnMemory own) {
  return std::make_shared<HeldCopiesImpl>(node, std::move(own));
}

}  // namespace robustrun::agent
