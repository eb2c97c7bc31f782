#include "agent/evidence/collective_watch.h"

#include <algorithm>

namespace robustrun::agent {
namespace {

using base::Nanos;
using tracer::HeadWatch;
using tracer::Membership;

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

}  // namespace

bool CollectiveWatch::has_overdue() const {
  return std::ranges::any_of(watched_, [](const auto& one) { return one.second.overdue != 0; });
}

void CollectiveWatch::tell_again() {
  has_news_ = has_news_ || reported_at_;
  for (const auto& [key, watched] : watched_) {
    if (watched.overdue != 0) report_head(key.second, watched);
  }
}

void CollectiveWatch::look(std::uint64_t steps) {
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
bool CollectiveWatch::may_hold_progress(Nanos now) const {
  return counts_progress_ || record_.has_first_communicator() || !read_at_ ||
         now - *read_at_ >= kEmptyTableInterval;
}

void CollectiveWatch::look_at_record(const std::string& table, Nanos now) {
  read_at_ = now;
  counts_progress_ = false;
  for (const tracer::CommunicatorCount& count : tracer::count_communicators(table)) {
    if (!count.counts_completion) continue;
    counts_progress_ = true;
    note({Source::kRecord, count.comm}, {now, count.entered, count.done, {}, steps_ > 0});
  }
  forget_missing(Source::kRecord);
}

void CollectiveWatch::ask_if_due(Nanos now) {
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

void CollectiveWatch::ask(const std::string& table) {
  // Where our plugin sees NCCL, torch's recorders know nothing more about it.
  flight_->ask(
      {tracer::known_groups(table), kFlightAnswerMax, !tracer::has_nccl(table)},
      [this](base::Result<std::vector<Membership>> answer) { on_answer(std::move(answer)); });
}

// Asking costs the worker milliseconds. The longer interval suffices to see in time a head that is
// overdue by its own history; the shorter one is for when something is already wrong.
bool CollectiveWatch::is_calm(Nanos now) const {
  if (steps_ == 0) return has_moved_;
  const Nanos longest = *std::ranges::max_element(step_gaps_);
  return now - stepped_at_ <= std::max<Nanos>(kStepsStillAfter, 2 * longest);
}

// No finding in itself: the process of a worker that does not answer is examined when it matters.
void CollectiveWatch::on_answer(base::Result<std::vector<Membership>> answer) {
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

void CollectiveWatch::note(Key key, HeadWatch::Look look) {
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
  wire::CommunicatorProgress& progress = watched.progress;
  has_news_ = has_news_ || progress.entered != look.entered || progress.done != look.done;
  progress.entered = look.entered;
  progress.done = look.done;
  progress.head_age = head.ordinal == 0 ? Nanos::zero() : head.age;
  if (head.became_overdue) {
    watched.overdue = head.ordinal;
    watched.expected = head.expected;
    report_head(key.second, watched);
  }
}

void CollectiveWatch::look_at_traffic(const std::string& table, Nanos now) {
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

void CollectiveWatch::report_bandwidth(const std::string& table, Nanos now) {
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
void CollectiveWatch::forget_missing(Source source) {
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

void CollectiveWatch::report_head(std::uint64_t comm, const Watched& watched) {
  node_.send(wire::Overdue{subject_.attempt, subject_.local_rank, comm, watched.overdue,
                           watched.progress.head_age, watched.expected, false});
}

void CollectiveWatch::report_over(std::uint64_t comm, Watched& watched) {
  node_.send(
      wire::Overdue{subject_.attempt, subject_.local_rank, comm, watched.overdue, {}, {}, true});
  watched.overdue = 0;
}

void CollectiveWatch::send_progress(Nanos now) {
  if (!has_news_ || (reported_at_ && now - *reported_at_ < kCollectiveProgressInterval)) return;
  has_news_ = false;
  reported_at_ = now;
  wire::CollectiveProgress report{subject_.attempt, subject_.local_rank, {}};
  for (const auto& [key, watched] : watched_) report.communicators.push_back(watched.progress);
  node_.send(report);
}

void CollectiveWatch::collect(Done done) {
  const Nanos now = node_.clock.now();
  const bool was_asking = flight_ && flight_->is_asking();
  collecting_ = std::move(done);
  if (was_asking) return await_answer(now + kFlightCollectMax);  // that answer is as fresh
  const auto table = record_.read_communicators();
  if (flight_ && table) {
    asked_at_ = now;
    await_answer(now + kFlightCollectMax);
    return ask(*table);
  }
  collect_soon_.after(Nanos{}, [this] {
    if (collecting_) finish_collecting();
  });
}

// An answer that has arrived may not be read: the pool's threads may hang in a dead mount.
void CollectiveWatch::await_answer(Nanos until) {
  collect_soon_.after(kProgressInterval, [this, until] {
    if (!collecting_) return;
    node_.clock.now() >= until ? finish_collecting() : await_answer(until);
  });
}

void CollectiveWatch::finish_collecting() {
  collect_soon_.cancel();
  const Nanos now = node_.clock.now();
  Collected collected;
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

}  // namespace robustrun::agent
