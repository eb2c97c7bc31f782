#include "supervisor/driver/hangs.h"

#include <utility>
#include <vector>

#include "base/io/log.h"

namespace robustrun::supervisor {

Hangs::Hangs(const base::Clock& clock, const NodeTable& nodes, WorkerLooks& looks, const Plan& plan,
             Hands hands)
    : clock_(clock),
      nodes_(nodes),
      looks_(looks),
      traces_(plan.traces),
      hands_(std::move(hands)),
      watch_(plan.policy, plan.still) {}

void Hangs::begin_attempt(base::Attempt attempt, std::uint32_t world_size) {
  watch_.begin_attempt(attempt, clock_.now());
  pace_looks_.begin_attempt(world_size);
  bandwidth_.begin_attempt();
  collectives_.begin_attempt();
}

// Only for groups that say nothing of steps: then their collectives are what goes on, or does not.
void Hangs::on_report(base::NodeId node, const wire::CollectiveProgress& report) {
  const auto rank = nodes_.rank_of(node, report.local_rank);
  if (report.attempt != hands_.attempt() || !rank) return;
  collectives_.take(*rank, report.communicators);
  watch_.note_group(clock_.now());
}

void Hangs::on_report(base::NodeId node, const wire::Overdue& report) {
  const auto rank = nodes_.rank_of(node, report.local_rank);
  if (report.attempt != hands_.attempt() || !rank) return;
  watch_.note_overdue(*rank, report.comm, report.over, report.expected);
  watch();
}

void Hangs::on_report(base::NodeId node, const wire::BandwidthReport& report) {
  const auto rank = nodes_.rank_of(node, report.local_rank);
  if (report.attempt != hands_.attempt() || !rank) return;
  const base::Nanos now = clock_.now();
  if (bandwidth_.take(*rank, report, now)) pace_looks_.hasten(now);
}

void Hangs::watch() {
  const base::Nanos now = clock_.now();
  const std::uint64_t counted = hands_.steps();
  const std::uint64_t steps = counted > 0 ? counted : collectives_.done();
  auto over = watch_.note_steps(steps, now);
  pace_looks_.note_steps(steps, now);
  if (!hands_.is_running()) return;
  if (over) hands_.on_diagnosed(*std::move(over));
  if (!watch_.wants_look(now)) return watch_for_slow_ranks();
  watch_.begin_look(now);
  looks_.look(true, [this, attempt = hands_.attempt()](const tracer::Verdict* verdict) {
    const base::Nanos then = clock_.now();
    if (verdict == nullptr || attempt != hands_.attempt() || !hands_.is_running()) {
      return watch_.give_up_look(then);
    }
    RR_LOG(kDebug, {}, "a look at the workers: {}: {}", to_string(verdict->finding),
           verdict->sentence);
    std::vector<Diagnosed> news = watch_.take(*verdict, then);
    // So that the journal knows the last step before a hang: only later ones end it.
    if (!news.empty()) hands_.on_news();
    for (Diagnosed& diagnosed : news) hands_.on_diagnosed(std::move(diagnosed));
  });
}

// Also of a job that is as fast as it ever was.
void Hangs::watch_for_slow_ranks() {
  const base::Nanos now = clock_.now();
  if (!traces_ || !pace_looks_.is_due(now)) return;
  pace_looks_.begin(now);
  looks_.look(false, [this, attempt = hands_.attempt(), now](const tracer::Verdict* verdict) {
    const base::Nanos then = clock_.now();
    if (attempt != hands_.attempt()) return;
    if (!pace_looks_.take(verdict, then) || !hands_.is_running()) return;
    if (auto slow = watch_.take_slow(*verdict, then - now)) hands_.on_diagnosed(*std::move(slow));
  });
}

void Hangs::look_at_pace(const LookAtPace& action) {
  const base::Nanos began = clock_.now();
  looks_.look(true, [this, attempt = action.attempt, began](const tracer::Verdict* verdict) {
    if (attempt != hands_.attempt() || !hands_.is_running()) return;
    hands_.on_diagnosed(watch_.round(verdict, clock_.now() - began));
  });
}

}  // namespace robustrun::supervisor
