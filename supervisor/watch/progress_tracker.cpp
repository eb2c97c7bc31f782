#include "supervisor/watch/progress_tracker.h"

#include <algorithm>
#include <limits>
#include <map>

namespace robustrun::supervisor {
namespace {

// A reading that lacks `has`, from `from` on and round; the size where none does.
template <class Has>
std::size_t find_without(const std::vector<wire::WorkerProgress>& readings, std::size_t from,
                         Has has) {
  for (std::size_t i = 0; i < readings.size(); ++i) {
    const std::size_t at = (from + i) % readings.size();
    if (!has(readings[at])) return at;
  }
  return readings.size();
}

// The latest of these moments; those that are unknown do not count.
base::Nanos latest(const std::vector<wire::WorkerProgress>& readings,
                   std::optional<base::Nanos> wire::WorkerProgress::* moment) {
  base::Nanos found{};
  for (const auto& reading : readings) found = std::max(found, (reading.*moment).value_or(found));
  return found;
}

// The script's own number, or how many steps the state of its optimizer has seen.
std::optional<std::int64_t> number_of(const wire::WorkerProgress& reading) {
  if (reading.step || !reading.steps_before || reading.steps == 0) return reading.step;
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const bool fits = reading.steps <= kMost && *reading.steps_before <= kMost - reading.steps;
  if (!fits) return std::nullopt;
  return static_cast<std::int64_t>(*reading.steps_before + reading.steps);
}

}  // namespace

void ProgressTracker::begin_attempt(base::Attempt attempt, std::uint32_t world_size) {
  if (const auto step = least_step()) {
    furthest_step_ = std::max(furthest_step_.value_or(*step), *step);
  }
  attempt_ = attempt;
  newest_.assign(world_size, {});
  node_of_.assign(world_size, {});
  user_code_ = first_step_ = changed_ = false;
  user_code_waits_ = first_step_waits_ = caught_up_waits_ = 0;
  caught_up_ = !furthest_step_;
}

std::optional<base::Nanos> ProgressTracker::reached_by_all(Moment moment,
                                                           std::size_t& waits_for) const {
  if (newest_.empty()) return std::nullopt;
  const std::size_t lacking =
      find_without(newest_, waits_for, [&](const auto& one) { return (one.*moment).has_value(); });
  if (lacking == newest_.size()) return latest(newest_, moment);
  waits_for = lacking;
  return std::nullopt;
}

base::Nanos ProgressTracker::last_step_of_all() const {
  std::size_t from = 0;
  return reached_by_all(&wire::WorkerProgress::last_step_at, from).value_or(base::Nanos{});
}

bool ProgressTracker::has_caught_up() {
  const std::size_t lacking = find_without(newest_, caught_up_waits_, [&](const auto& one) {
    const auto step = number_of(one);
    return step && *step >= *furthest_step_;
  });
  if (lacking == newest_.size()) return !newest_.empty();
  caught_up_waits_ = lacking;
  return false;
}

std::vector<NodeMark> ProgressTracker::by_node(Moment moment) const {
  std::map<base::NodeId, base::Nanos> latest;
  for (std::size_t rank = 0; rank < newest_.size(); ++rank) {
    base::Nanos& at = latest[node_of_[rank]];
    at = std::max(at, (newest_[rank].*moment).value_or(base::Nanos{}));
  }
  std::vector<NodeMark> marks;
  for (const auto& [node, at] : latest) marks.push_back({node, at});
  return marks;
}

std::vector<Progress> ProgressTracker::take(base::Rank rank, const wire::WorkerProgress& reading,
                                            base::NodeId node) {
  std::vector<Progress> marks;
  if (reading.attempt != attempt_ || rank.value >= newest_.size()) return marks;
  newest_[rank.value] = reading;
  node_of_[rank.value] = node;
  changed_ = true;
  if (!user_code_) {
    if (const auto at = reached_by_all(&wire::WorkerProgress::user_code_at, user_code_waits_)) {
      user_code_ = true;
      marks.push_back(mark(Progress::Mark::kUserCode));
      marks.back().reached_at = *at;
      marks.back().nodes = by_node(&wire::WorkerProgress::user_code_at);
    }
  }
  if (!first_step_) {
    if (const auto at = reached_by_all(&wire::WorkerProgress::first_step_at, first_step_waits_)) {
      first_step_ = true;
      marks.push_back(mark(Progress::Mark::kFirstStep));
      marks.back().reached_at = *at;
      marks.back().nodes = by_node(&wire::WorkerProgress::first_step_at);
    }
  }
  if (!caught_up_ && has_caught_up()) {
    caught_up_ = true;
    marks.push_back(mark(Progress::Mark::kCaughtUp));
    marks.back().reached_at = last_step_of_all();
  }
  return marks;
}

void ProgressTracker::end(base::Rank rank, base::Nanos at) {
  if (rank.value >= newest_.size()) return;
  wire::WorkerProgress& reading = newest_[rank.value];
  if (!reading.data_wait_since) return;
  reading.data_waited = data_wait_of(rank, at).waited;
  reading.data_wait_since.reset();
  changed_ = true;
}

std::vector<MetricAlarm> ProgressTracker::watch(base::Rank rank,
                                                const wire::WorkerProgress& reading,
                                                base::Nanos now) {
  if (rank != speaker() || reading.attempt != attempt_) return {};
  MetricReading taken{reading.attempt, reading.steps,        reading.step,
                      reading.lines,   reading.last_step_at, {}};
  for (const wire::Metric& metric : reading.metrics) {
    taken.metrics.emplace_back(metric.name, metric.value);
  }
  return metrics_.take(taken, now);
}

base::Rank ProgressTracker::speaker() const {
  if (newest_.empty() || newest_.back().lines == 0) return base::Rank{0};
  if (newest_.front().lines != 0 || !newest_.front().metrics.empty()) return base::Rank{0};
  return base::Rank{static_cast<std::uint32_t>(newest_.size() - 1)};
}

std::optional<Progress> ProgressTracker::summary(base::Nanos now) {
  const auto waits = [](const wire::WorkerProgress& reading) {
    return reading.data_wait_since.has_value();
  };
  if (!changed_ && std::ranges::none_of(newest_, waits)) return std::nullopt;
  changed_ = false;
  Progress progress = mark(Progress::Mark::kSummary);
  progress.reached_at = last_step_of_all();
  for (std::uint32_t rank = 0; rank < newest_.size(); ++rank) {
    progress.data_skipped = std::max(progress.data_skipped, newest_[rank].data_skipped);
    const base::Nanos waited = data_wait_of(base::Rank{rank}, now).waited;
    if (waited <= progress.data_waited) continue;
    progress.data_waited = waited;
    progress.data_rank = base::Rank{rank};
  }
  return progress;
}

ProgressTracker::DataWait ProgressTracker::data_wait_of(base::Rank rank, base::Nanos now) const {
  if (rank.value >= newest_.size()) return {};
  const wire::WorkerProgress& reading = newest_[rank.value];
  DataWait wait{
      .waited = reading.data_waited, .lasting = {}, .place = {}, .skipped = reading.data_skipped};
  if (reading.data_wait_since) {
    wait.lasting = std::max(base::Nanos{}, now - *reading.data_wait_since);
    wait.waited += *wait.lasting;
    wait.place = reading.data_place;
  }
  return wait;
}

std::uint64_t ProgressTracker::steps_done() const {
  if (const auto step = least_step())
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, *step));
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const auto& reading : newest_) least = std::min(least, reading.steps);
  return newest_.empty() ? 0 : least;
}

Progress ProgressTracker::mark(Progress::Mark kind) const {
  Progress progress;
  progress.attempt = attempt_;
  progress.mark = kind;
  progress.step = least_step();
  progress.steps = std::numeric_limits<std::uint64_t>::max();
  for (const auto& reading : newest_) progress.steps = std::min(progress.steps, reading.steps);
  if (newest_.empty()) {
    progress.steps = 0;
    return progress;
  }
  for (const auto& metric : newest_[speaker().value].metrics) {
    progress.metric_names.push_back(metric.name);
    progress.metric_values.push_back(metric.value);
  }
  return progress;
}

std::optional<std::int64_t> ProgressTracker::least_step() const {
  std::optional<std::int64_t> least;
  for (const auto& reading : newest_) {
    const std::optional<std::int64_t> step = number_of(reading);
    if (!step) return std::nullopt;
    least = std::min(least.value_or(*step), *step);
  }
  return least;
}

std::uint64_t ProgressTracker::steps_of(base::Rank rank) const {
  return rank.value < newest_.size() ? newest_[rank.value].steps : 0;
}

std::optional<std::int64_t> ProgressTracker::step_of(base::Rank rank) const {
  return rank.value < newest_.size() ? number_of(newest_[rank.value]) : std::nullopt;
}

std::uint64_t ProgressTracker::furthest() const {
  std::uint64_t steps = 0;
  for (const wire::WorkerProgress& reading : newest_) steps = std::max(steps, reading.steps);
  return steps;
}

}  // namespace robustrun::supervisor
