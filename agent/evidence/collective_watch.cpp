#include "agent/evidence/collective_watch.h"

#include <algorithm>
#include <array>
#include <boost/asio/post.hpp>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "agent/node/limits.h"
#include "tracer/head_watch.h"
#include "tracer/traffic_watch.h"

namespace robustrun::agent {
namespace {

using base::Nanos;
using tracer::HeadWatch;
using tracer::Membership;

// One communicator, as one source reports it.
struct Watched {
  HeadWatch heads;
  wire::CommunicatorProgress progress;
  std::uint64_t overdue = 0;  // sequence number of the operation; 0: none
  bool is_there = true;       // at the last look at its source
};

enum class Source : std::uint8_t { kRecord, kFlight };
using Key = std::pair<Source, std::uint64_t>;

std::optional<Nanos> head_age(const Membership& comm) {
  if (comm.pending.empty() || comm.pending.front().ordinal != comm.done + 1) return std::nullopt;
  return comm.pending.front().age;
}

// As if the worker had reported nothing new for that long.
void grow_older(std::vector<Membership>& comms, Nanos time) {
  for (Membership& comm : comms) {
    if (comm.idle > Nanos::zero()) comm.idle += time;
    for (tracer::Operation& operation : comm.pending) {
      operation.age += time;
      operation.unchanged += time;
    }
  }
}

class WatchImpl : public std::enable_shared_from_this<WatchImpl> {
 public:
  using Done = CollectiveWatch::Done;
  WatchImpl(NodeContext& node, CollectiveWatch::Subject subject, const tracer::RecordFile& record,
            std::unique_ptr<FlightSource> flight)
      : node_(node), subject_(subject), record_(record), flight_(std::move(flight)) {}

  void look(std::uint64_t steps);
  void collect(Done done);
  [[nodiscard]] bool has_overdue() const {
    return std::ranges::any_of(watched_, [](const auto& one) { return one.second.overdue != 0; });
  }
  void drop() {
    collecting_ = nullptr;
    flight_.reset();
  }

 private:
  [[nodiscard]] bool is_calm(Nanos now) const;
  [[nodiscard]] bool may_hold_progress(Nanos now) const;
  void look_at_record(const std::string& table, Nanos now);
  void ask_if_due(Nanos now);
  void ask(const std::string& table);
  void on_answer(base::Result<std::vector<Membership>> answer);
  void note(Key key, HeadWatch::Look look);
  void forget_missing(Source source);
  void report_head(std::uint64_t comm, const Watched& watched, const HeadWatch::Head& head);
  void report_over(std::uint64_t comm, Watched& watched);
  void send_progress(Nanos now);
  void look_at_traffic(const std::string& table, Nanos now);
  void report_bandwidth(const std::string& table, Nanos now);
  void finish_collecting();

  NodeContext& node_;
  const CollectiveWatch::Subject subject_;
  const tracer::RecordFile& record_;
  std::unique_ptr<FlightSource> flight_;
  std::map<Key, Watched> watched_;
  std::optional<Nanos> read_at_;  // last read of the record's table
  bool counts_progress_ = false;  // something in it counted as progress then
  std::uint64_t steps_ = 0;
  Nanos stepped_at_{};
  std::array<Nanos, kStepGapsRemembered> step_gaps_{};
  std::size_t next_gap_ = 0;
  bool has_answered_ = false;
  bool has_moved_ = false;  // progress between the recorder's last two answers
  std::optional<Nanos> asked_at_;
  std::vector<Membership> answered_;  // the Flight Recorder's last answer
  Nanos answered_at_{};
  std::uint64_t answered_at_step_ = 0;
  tracer::TrafficWatch traffic_;
  std::optional<Nanos> traffic_at_;  // last read of the tables of traffic
  std::vector<tracer::Moved> moved_;  // then
  // By communicator, kind and size: the totals that were reported last.
  std::map<std::tuple<std::uint64_t, tracer::OpKind, std::uint32_t>, tracer::Moved> reported_moved_;
  std::set<std::uint64_t> named_;  // communicators whose names were reported
  std::optional<Nanos> bandwidth_at_, names_at_;  // last report, and the last one with names
  bool has_fallen_ = false;  // some row, at the last look
  std::optional<Nanos> reported_at_;
  bool has_news_ = false;
  Done collecting_;
};

void WatchImpl::look(std::uint64_t steps) {
  const Nanos now = node_.clock.now();
  if (steps != steps_) {
    if (steps_ > 0) step_gaps_[next_gap_++ % step_gaps_.size()] = now - stepped_at_;
    stepped_at_ = now;
  }
  steps_ = steps;
  if (may_hold_progress(now)) {
    const auto table = record_.read_communicators();
    if (!table) return;  // the worker broke it: there is nothing to see
    look_at_record(*table, now);
    if (counts_progress_) look_at_traffic(*table, now);
  }
  ask_if_due(now);
  send_progress(now);
}

// The table is long. NCCL's communicators take its first slot first; the interposer's are found a
// moment later.
bool WatchImpl::may_hold_progress(Nanos now) const {
  return counts_progress_ || record_.has_first_communicator() || !read_at_ ||
         now - *read_at_ >= kEmptyTableInterval;
}

void WatchImpl::look_at_record(const std::string& table, Nanos now) {
  read_at_ = now;
  counts_progress_ = false;
  for (const tracer::CommunicatorCount& count : tracer::count_communicators(table)) {
    if (!count.counts_completion) continue;
    counts_progress_ = true;
    note({Source::kRecord, count.comm}, {now, count.entered, count.done, {}, steps_ > 0});
  }
  forget_missing(Source::kRecord);
}

void WatchImpl::ask_if_due(Nanos now) {
  if (!flight_ || flight_->is_asking()) return;
  const Nanos calm = steps_ > 0 ? kFlightIntervalStepping : kFlightIntervalMoving;
  // The supervisor should learn soon that there are collectives at all.
  const bool is_known = !answered_.empty();
  const Nanos interval = is_known && is_calm(now) ? calm : kFlightInterval;
  if (asked_at_ && now - *asked_at_ < interval) return;
  const auto table = record_.read_communicators();
  if (!table) return;
  asked_at_ = now;
  ask(*table);
}

void WatchImpl::ask(const std::string& table) {
  // Where our plugin sees NCCL, torch's recorders know nothing more about it.
  flight_->ask(
      {tracer::known_groups(table), kFlightAnswerMax, !tracer::has_nccl(table)},
      [this](base::Result<std::vector<Membership>> answer) { on_answer(std::move(answer)); });
}

// Asking costs the worker milliseconds. The longer interval suffices to see in time a head that is
// overdue by its own history; the shorter one is for when something is already wrong.
bool WatchImpl::is_calm(Nanos now) const {
  if (steps_ == 0) return has_moved_;
  const Nanos longest = *std::ranges::max_element(step_gaps_);
  return now - stepped_at_ <= std::max<Nanos>(kStepsStillAfter, 2 * longest);
}

// No finding in itself: the process of a worker that does not answer is examined when it matters.
void WatchImpl::on_answer(base::Result<std::vector<Membership>> answer) {
  const Nanos now = node_.clock.now();
  if (answer) {
    const auto done = [](const std::vector<Membership>& comms) {
      std::uint64_t sum = 0;
      for (const Membership& comm : comms) sum += comm.done;
      return sum;
    };
    has_moved_ = done(*answer) != done(answered_);
    has_news_ = has_news_ || !has_answered_;  // it has a process group, with or without operations
    has_answered_ = true;
    answered_ = *std::move(answer);
    answered_at_ = now;
    answered_at_step_ = steps_;
    for (const Membership& comm : answered_) {
      if (!comm.counts_completion) continue;
      note({Source::kFlight, comm.comm},
           {now, comm.entered, comm.done, head_age(comm), steps_ > 0});
    }
    forget_missing(Source::kFlight);
  }
  if (collecting_) finish_collecting();
}

void WatchImpl::note(Key key, HeadWatch::Look look) {
  auto found = watched_.find(key);
  if (found == watched_.end()) {
    if (watched_.size() >= kWatchedCommunicatorsMax) return;
    found = watched_.emplace(key, Watched{}).first;
    found->second.progress.comm = key.second;
  }
  Watched& watched = found->second;
  watched.is_there = true;
  const HeadWatch::Head head = watched.heads.look(look);
  if (head.over != 0) report_over(key.second, watched);
  if (head.became_overdue) {
    watched.overdue = head.ordinal;
    report_head(key.second, watched, head);
  }
  wire::CommunicatorProgress& progress = watched.progress;
  has_news_ = has_news_ || progress.entered != look.entered || progress.done != look.done;
  progress.entered = look.entered;
  progress.done = look.done;
  progress.head_age = head.ordinal == 0 ? Nanos::zero() : head.age;
}

void WatchImpl::look_at_traffic(const std::string& table, Nanos now) {
  if (traffic_at_ && now - *traffic_at_ < kTrafficInterval) return;
  if (!tracer::has_nccl(table)) return;
  const auto tables = record_.read_traffic();
  if (!tables) return;
  traffic_at_ = now;
  tracer::Traffic traffic = tracer::read_traffic(table, *tables);
  traffic_.look(now, traffic);
  moved_ = std::move(traffic.moved);
  const auto has_fallen = [this](const auto& row) { return traffic_.has_fallen(row); };
  const bool had_fallen = std::exchange(has_fallen_, std::ranges::any_of(moved_, has_fallen));
  const Nanos interval = has_fallen_ ? kBandwidthIntervalFallen : kBandwidthInterval;
  const bool is_due = !bandwidth_at_ || now - *bandwidth_at_ >= interval;
  if (is_due || (has_fallen_ && !had_fallen)) report_bandwidth(table, now);
}

void WatchImpl::report_bandwidth(const std::string& table, Nanos now) {
  bandwidth_at_ = now;
  wire::BandwidthReport report{subject_.attempt, subject_.local_rank, {}, {}};
  for (const tracer::Moved& row : moved_) {
    tracer::Moved& from = reported_moved_[{row.comm, row.kind, row.size_bits}];
    // Smaller totals are those of a new communicator with the same key.
    if (row.count < from.count || row.bytes < from.bytes || row.busy < from.busy) from = {};
    if (row.count == from.count) continue;
    report.moved.push_back({row.comm, row.size, static_cast<std::uint8_t>(row.kind), row.size_bits,
                            row.count - from.count, row.bytes - from.bytes, row.busy - from.busy,
                            traffic_.has_fallen(row)});
  }
  if (report.moved.empty()) return;
  std::ranges::sort(report.moved, std::greater{}, &wire::Moved::busy);
  if (report.moved.size() > kBandwidthRowsMax) report.moved.resize(kBandwidthRowsMax);
  std::erase_if(reported_moved_, [&](const auto& one) {
    return std::ranges::none_of(moved_, [&](const tracer::Moved& row) {
      return one.first == std::tuple(row.comm, row.kind, row.size_bits);
    });
  });
  bool has_new = !names_at_ || now - *names_at_ >= kBandwidthNamesInterval;
  for (const wire::Moved& row : report.moved) {
    tracer::Moved& from =
        reported_moved_[{row.comm, static_cast<tracer::OpKind>(row.kind), row.size_bits}];
    from.count += row.count;
    from.bytes += row.bytes;
    from.busy += row.busy;
    has_new = has_new || !named_.contains(row.comm);
  }
  if (has_new) {
    names_at_ = now;
    named_.clear();
    for (auto& [comm, name] : tracer::names_of(table)) {
      named_.insert(comm);
      if (!name.empty()) report.names.push_back({comm, std::move(name)});
    }
  }
  node_.send(report);
}

// A destroyed group takes its overdue operations with it.
void WatchImpl::forget_missing(Source source) {
  for (auto one = watched_.begin(); one != watched_.end();) {
    auto& [key, watched] = *one;
    if (key.first != source || std::exchange(watched.is_there, false)) {
      ++one;
      continue;
    }
    if (watched.overdue != 0) report_over(key.second, watched);
    one = watched_.erase(one);
  }
}

void WatchImpl::report_head(std::uint64_t comm, const Watched& watched,
                            const HeadWatch::Head& head) {
  node_.send(wire::Overdue{subject_.attempt, subject_.local_rank, comm, watched.overdue, head.age,
                           head.expected, false});
}

void WatchImpl::report_over(std::uint64_t comm, Watched& watched) {
  node_.send(
      wire::Overdue{subject_.attempt, subject_.local_rank, comm, watched.overdue, {}, {}, true});
  watched.overdue = 0;
}

void WatchImpl::send_progress(Nanos now) {
  if (!has_news_ || (reported_at_ && now - *reported_at_ < kCollectiveProgressInterval)) return;
  has_news_ = false;
  reported_at_ = now;
  wire::CollectiveProgress report{subject_.attempt, subject_.local_rank, {}};
  for (const auto& [key, watched] : watched_) report.communicators.push_back(watched.progress);
  node_.send(report);
}

void WatchImpl::collect(Done done) {
  const bool was_asking = flight_ && flight_->is_asking();
  collecting_ = std::move(done);
  if (was_asking) return;  // the answer under way is as fresh
  const auto table = record_.read_communicators();
  if (flight_ && table) {
    asked_at_ = node_.clock.now();
    return ask(*table);
  }
  boost::asio::post(node_.executor, [self = weak_from_this()] {
    if (auto watch = self.lock(); watch && watch->collecting_) watch->finish_collecting();
  });
}

void WatchImpl::finish_collecting() {
  const Nanos now = node_.clock.now();
  CollectiveWatch::Collected collected;
  if (const auto file = record_.read_all()) {
    if (auto recorded = tracer::read_collectives(*file, now)) {
      collected.comms = std::move(recorded->comms);
      traffic_.describe(collected.comms);
      collected.calls_still = recorded->calls_still;
      collected.proxy_still = recorded->proxy_still;
    }
  }
  // If the worker has stepped since, its previous answer means nothing.
  std::vector<Membership> answered;
  if (steps_ == answered_at_step_) answered = answered_;
  grow_older(answered, now - answered_at_);
  std::ranges::move(answered, std::back_inserter(collected.comms));
  std::exchange(collecting_, nullptr)(std::move(collected));
}

class CollectiveWatchOwner final : public CollectiveWatch {
 public:
  explicit CollectiveWatchOwner(std::shared_ptr<WatchImpl> watch) : watch_(std::move(watch)) {}
  ~CollectiveWatchOwner() override { watch_->drop(); }
  CollectiveWatchOwner(const CollectiveWatchOwner&) = delete;
  CollectiveWatchOwner& operator=(const CollectiveWatchOwner&) = delete;
  void look(std::uint64_t steps) override { watch_->look(steps); }
  [[nodiscard]] bool has_overdue() const override { return watch_->has_overdue(); }
  void collect(Done done) override { watch_->collect(std::move(done)); }

 private:
  std::shared_ptr<WatchImpl> watch_;
};

}  // namespace

std::unique_ptr<CollectiveWatch> CollectiveWatch::make(NodeContext& node, Subject subject,
                                                       const tracer::RecordFile& record,
                                                       std::unique_ptr<FlightSource> flight) {
  return std::make_unique<CollectiveWatchOwner>(
      std::make_shared<WatchImpl>(node, subject, record, std::move(flight)));
}

}  // namespace robustrun::agent
