// Hangs: an agent reports a worker that waits for long, all workers are looked at, the analyzer
// names the rank that blocks the others, and the core gets the verdicts that matter (hang_watch.h).

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/io/log.h"
#include "supervisor/console/rank_layout.h"
#include "supervisor/control/diagnose_row.h"
#include "supervisor/driver/impl.h"
#include "supervisor/limits.h"
#include "tracer/analysis/last_words.h"

namespace robustrun::supervisor {

// Only for groups that say nothing of steps: then their collectives are what goes on, or does not.
void Driver::Impl::on_report(base::NodeId, const wire::CollectiveProgress& report) {
  if (report.attempt != job_.attempt()) return;
  std::uint64_t done = 0;
  for (const wire::CommunicatorProgress& one : report.communicators) done += one.done;
  collectives_done_ = std::max(collectives_done_.value_or(0), done);
  hang_watch_.note_group(parts_.clock.now());
}

void Driver::Impl::on_report(base::NodeId node, const wire::Overdue& report) {
  base::Rank rank;
  if (report.attempt != job_.attempt() || !rank_of(node, report.local_rank, &rank)) return;
  hang_watch_.note_overdue(rank, report.comm, report.over, report.expected);
  watch_for_hangs();
}

void Driver::Impl::on_report(base::NodeId node, const wire::Observed& report) {
  for (const auto& look : {look_, last_look_}) {
    if (look) look->on_report(node, report);
  }
  for (const auto& look : use_looks_) look->on_report(node, report);
}

void Driver::Impl::on_report(base::NodeId node, wire::RasAnswer& answer) {
  if (const auto look = look_) look->on_report(node, std::move(answer));
}

void Driver::Impl::watch_for_hangs() {
  const base::Nanos now = parts_.clock.now();
  const std::uint64_t steps =
      progress_.furthest() > 0 ? progress_.furthest() : collectives_done_.value_or(0);
  hang_watch_.note_steps(steps, now);
  pace_looks_.note_steps(steps, now);
  if (job_.state() != JobState::kRunning) return;
  if (!hang_watch_.wants_look(now)) return watch_for_slow_ranks();
  hang_watch_.begin_look(now);
  look_at_workers(true, [this, attempt = job_.attempt()](const tracer::Verdict* verdict) {
    const base::Nanos then = parts_.clock.now();
    if (verdict == nullptr || attempt != job_.attempt() || job_.state() != JobState::kRunning) {
      return hang_watch_.give_up_look(then);
    }
    RR_LOG(kDebug, {}, "a look at the workers: {}: {}", to_string(verdict->finding),
           verdict->sentence);
    std::vector<Diagnosed> news = hang_watch_.take(*verdict, then);
    // So that the journal knows the last step before a hang: only later ones end it.
    auto summary = news.empty() ? std::nullopt : progress_.summary();
    if (summary) dispatch(*std::move(summary));
    for (Diagnosed& diagnosed : news) dispatch(std::move(diagnosed));
  });
}

// Also of a job that is as fast as it ever was.
void Driver::Impl::watch_for_slow_ranks() {
  const base::Nanos now = parts_.clock.now();
  if (!request_.workers.trace || !pace_looks_.is_due(now)) return;
  pace_looks_.begin(now);
  look_at_workers(false, [this, attempt = job_.attempt(), now](const tracer::Verdict* verdict) {
    const base::Nanos then = parts_.clock.now();
    if (attempt != job_.attempt()) return;
    if (!pace_looks_.take(verdict, then) || job_.state() != JobState::kRunning) return;
    if (auto slow = hang_watch_.take_slow(*verdict, then - now)) dispatch(*std::move(slow));
  });
}

// A round of the vote on which machine slows the job down; without a verdict it names none.
void Driver::Impl::look_at_pace(const LookAtPace& action) {
  const base::Nanos began = parts_.clock.now();
  look_at_workers(true, [this, attempt = action.attempt, began](const tracer::Verdict* verdict) {
    if (attempt != job_.attempt() || job_.state() != JobState::kRunning) return;
    dispatch(hang_watch_.round(verdict, parts_.clock.now() - began));
  });
}

// There is one look at a time: a request during a look gets that look's verdict, unless it needs
// evidence and the look has none; then another look follows.
void Driver::Impl::look_at_workers(bool evidence,
                                   std::function<void(const tracer::Verdict*)> done) {
  look_waiters_.push_back({evidence, std::move(done)});
  if (look_waiters_.size() == 1) begin_look(evidence);
}

void Driver::Impl::begin_look(bool evidence) {
  look_has_evidence_ = evidence;
  Observation::Plan plan =
      observation_of({++looks_begun_, job_.attempt(), evidence, kObserveWithin});
  // NCCL asks all processes of the job: one node is enough, another one next time.
  if (evidence && !plan.nodes.empty()) plan.ras = plan.nodes[looks_begun_ % plan.nodes.size()].node;
  Observation::Hands hands;
  hands.send = [this](base::NodeId node, const wire::Message& message) { send(node, message); };
  hands.done = [self = weak_from_this()](tracer::FleetSnapshot fleet, wire::RasAnswer ras) {
    if (auto driver = self.lock()) driver->analyze(std::move(fleet), std::move(ras));
  };
  look_ = Observation::begin(parts_.executor, std::move(plan), std::move(hands));
}

Observation::Plan Driver::Impl::observation_of(wire::Observe question) const {
  Observation::Plan plan;
  plan.question = question;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    if (nodes_[i].ranks.empty()) continue;
    plan.world_size += static_cast<std::uint32_t>(nodes_[i].ranks.size());
    if (!nodes_[i].lost) plan.nodes.push_back({{i}, names_[i], nodes_[i].ranks});
  }
  return plan;
}

// The question is sent before the stop orders, and agents delay these for it: a stopped worker
// cannot be looked at.
void Driver::Impl::look_back(const LookBack& action) {
  const base::Nanos began = parts_.clock.now();
  const auto tell = [self = weak_from_this(), attempt = action.attempt, failed = action.failed,
                     words = action.words, began](tracer::Verdict verdict) {
    auto driver = self.lock();
    if (!driver || driver->finished_) return;
    if (verdict.finding != tracer::Finding::kMismatch) {
      auto said = tracer::mismatch_in_words(driver->unseen_ranks({}), failed, words);
      if (said) verdict = *std::move(said);
    }
    RR_LOG(kDebug, {}, "a look back: {} {}", to_string(verdict.finding), verdict.sentence);
    driver->dispatch(Diagnosed{attempt, Diagnosed::Stage::kPostMortem, std::move(verdict),
                               driver->parts_.clock.now() - began});
  };
  if (!parts_.analyze_failed) return tell({});
  if (last_look_) last_look_->drop();
  Observation::Hands hands;
  hands.send = [this](base::NodeId node, const wire::Message& message) { send(node, message); };
  hands.done = [self = weak_from_this(), tell](tracer::FleetSnapshot fleet,
                                               const wire::RasAnswer&) {
    auto driver = self.lock();
    if (!driver) return;
    driver->last_look_.reset();
    fleet.layout = rank_layout(driver->request_.placement.parallel, fleet.world_size);
    driver->parts_.analyze_failed(std::move(fleet), tell);
  };
  last_look_ = Observation::begin(
      parts_.executor, observation_of({++looks_begun_, action.attempt, false, kLookBackWithin}),
      std::move(hands));
}

void Driver::Impl::analyze(tracer::FleetSnapshot fleet, wire::RasAnswer ras) {
  look_.reset();
  if (!parts_.analyze || finished_) return tell_waiters(nullptr);
  fleet.layout = rank_layout(request_.placement.parallel, fleet.world_size);
  tracer::RasEvidence said{std::move(ras.report), ras.is_shared, {}};
  if (!said.report.empty()) said.unseen = unseen_ranks(fleet);
  parts_.analyze(std::move(fleet), std::move(said),
                 [self = weak_from_this()](const tracer::Verdict& verdict) {
                   if (auto driver = self.lock()) driver->tell_waiters(&verdict);
                 });
}

std::vector<tracer::RankSnapshot> Driver::Impl::unseen_ranks(
    const tracer::FleetSnapshot& fleet) const {
  std::vector<tracer::RankSnapshot> unseen;
  for (std::uint32_t i = 0; i < nodes_.size(); ++i) {
    for (std::uint32_t local = 0; local < nodes_[i].ranks.size(); ++local) {
      tracer::RankSnapshot one;
      one.rank = nodes_[i].ranks[local];
      one.node = names_[i];
      one.local_rank = {local};
      const bool is_seen =
          std::ranges::binary_search(fleet.ranks, one.rank, {}, &tracer::RankSnapshot::rank);
      if (!is_seen) unseen.push_back(std::move(one));
    }
  }
  std::ranges::sort(unseen, {}, &tracer::RankSnapshot::rank);
  return unseen;
}

void Driver::Impl::tell_waiters(const tracer::Verdict* verdict) {
  const bool with_evidence = look_has_evidence_;
  std::vector<LookWaiter> waiters = std::exchange(look_waiters_, {});
  const auto answered = std::ranges::stable_partition(waiters, [&](const LookWaiter& one) {
    return one.evidence && !with_evidence && verdict != nullptr;
  });
  std::vector<LookWaiter> done(std::make_move_iterator(answered.begin()),
                               std::make_move_iterator(answered.end()));
  waiters.erase(answered.begin(), answered.end());
  look_waiters_ = std::move(waiters);
  if (!look_waiters_.empty()) begin_look(true);
  for (const LookWaiter& one : done) one.done(verdict);
}

ControlServer::Row Driver::Impl::diagnosis_row() {
  return diagnose_row([this](std::function<void(const tracer::Verdict*)> done) {
    if (job_.state() != JobState::kRunning) return done(nullptr);
    look_at_workers(true, std::move(done));
  });
}

}  // namespace robustrun::supervisor
