#include "supervisor/driver/group_progress.h"

#include <utility>

#include "base/io/log.h"
#include "supervisor/limits.h"

namespace robustrun::supervisor {

GroupProgress::GroupProgress(const boost::asio::any_io_executor& executor, const base::Clock& clock,
                             NodeTable& nodes, std::optional<std::uint64_t> stop_after_steps,
                             bool reads_lines, Hands hands)
    : clock_(clock),
      nodes_(nodes),
      stop_after_steps_(stop_after_steps),
      hands_(std::move(hands)),
      line_news_(reads_lines),
      summary_timer_(executor) {}

void GroupProgress::begin_attempt(base::Attempt attempt, std::uint32_t world_size,
                                  base::Nanos began) {
  readings_.begin_attempt(attempt, world_size);
  checkpoints_.begin_attempt(attempt, world_size, began);
  goal_reached_ = false;
}

void GroupProgress::arm_summary() {
  summary_timer_.after(kSummaryInterval, [this] {
    arm_summary();
    journal_all();
  });
}

void GroupProgress::watch() {
  const base::Nanos now = clock_.now();
  const std::uint64_t furthest = readings_.furthest();
  if (std::exchange(furthest_, furthest) < furthest) stepped_at_ = now;
  rate_.note(now, readings_.newest().steps);
  if (const auto news = line_news_.due(now)) RR_LOG(kWarn, {}, "{}", *news);
}

void GroupProgress::on_report(base::NodeId node, wire::WorkerProgress& reading) {
  const auto rank = nodes_.rank_of(node, reading.local_rank);
  if (reading.attempt != hands_.attempt() || !rank) return;
  const base::Nanos offset = nodes_[node].clock_offset;
  for (auto* at : {&reading.user_code_at, &reading.first_step_at, &reading.last_step_at,
                   &reading.data_wait_since}) {
    if (*at) **at += offset;
  }
  line_news_.note(*rank, reading);
  for (Progress& mark : readings_.take(*rank, reading, node)) {
    hands_.on_event(std::move(mark), node);
  }
  for (MetricAlarm& alarm : readings_.watch(*rank, reading, clock_.now())) {
    hands_.on_event(std::move(alarm), {});
  }
  if (!stop_after_steps_ || goal_reached_ || readings_.steps_done() < *stop_after_steps_) return;
  goal_reached_ = true;
  journal_steps(node);
  hands_.on_event(StepGoalReached{reading.attempt, readings_.steps_done()}, node);
}

void GroupProgress::on_report(base::NodeId node, wire::CheckpointNote& note) {
  const auto rank = nodes_.rank_of(node, note.local_rank);
  if (rank) journal(checkpoints_.take(*rank, node, std::move(note), clock_.now()));
}

void GroupProgress::journal(std::vector<CheckpointWatch::News> news) {
  for (CheckpointWatch::News& one : news) hands_.on_event(std::move(one.event), one.node);
}

void GroupProgress::journal_steps(base::NodeId node) {
  std::optional<Progress> made = readings_.summary(clock_.now());
  if (!made) return;
  if (made->attempt == hands_.attempt()) made->bandwidth = hands_.bandwidth();
  hands_.on_event(*std::move(made), node);
}

void GroupProgress::journal_all(base::NodeId node) {
  journal_steps(node);
  journal(checkpoints_.rest());
}

}  // namespace robustrun::supervisor
