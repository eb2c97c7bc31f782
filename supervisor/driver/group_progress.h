#pragma once
// How far the workers are. Their readings and their notes about checkpoints become a few events
// about the whole group, which are journaled. The newest readings are kept for the status.
//
// Owned by the driver, on its loop.

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "base/core/clock.h"
#include "base/io/timer.h"
#include "supervisor/agents/node_table.h"
#include "supervisor/core/types/events.h"
#include "supervisor/watch/checkpoint_watch.h"
#include "supervisor/watch/line_news.h"
#include "supervisor/watch/progress_tracker.h"
#include "supervisor/watch/step_rate.h"

namespace robustrun::supervisor {

class GroupProgress {
 public:
  struct Hands {
    std::function<base::Attempt()> attempt;  // the current one
    // Since the attempt's start, to be journaled.
    std::function<std::vector<Bandwidth>()> bandwidth;
    std::function<void(EventBody, base::NodeId)> on_event;
  };
  // `stop_after_steps`: nullopt if the job has no such goal. `reads_lines`: metrics are read from
  // the workers' output. The references outlive this object.
  GroupProgress(const boost::asio::any_io_executor& executor, const base::Clock& clock,
                NodeTable& nodes, std::optional<std::uint64_t> stop_after_steps, bool reads_lines,
                Hands hands);

  // Journals the newest state every kSummaryInterval from now on, until end().
  void begin() { arm_summary(); }
  void end() { summary_timer_.cancel(); }
  // `began`: a time before the attempt's first worker started. No save can have taken longer than
  // the time since then.
  void begin_attempt(base::Attempt attempt, std::uint32_t world_size, base::Nanos began);
  // To be called several times a second.
  void watch();

  void on_report(base::NodeId node, wire::WorkerProgress& reading);
  void on_report(base::NodeId node, wire::CheckpointNote& note);
  // A worker of the current attempt has ended at `at`.
  void end_worker(base::Rank rank, base::Nanos at) { readings_.end(rank, at); }
  // Journals the newest state before something else is journaled, if the state has changed or a
  // rank waits for training data.
  void journal_steps(base::NodeId node = {});
  // Also journals what is due about checkpoints.
  void journal_all(base::NodeId node = {});

  [[nodiscard]] const ProgressTracker& readings() const { return readings_; }
  // Over the last kStepRateWindow; nullopt: unknown.
  [[nodiscard]] std::optional<double> steps_per_second() const {
    return rate_.per_second(clock_.now());
  }
  // When the furthest rank was seen to do its last step; nullopt: no step was seen.
  [[nodiscard]] std::optional<base::Nanos> stepped_at() const { return stepped_at_; }

 private:
  void arm_summary();
  void journal(std::vector<CheckpointWatch::News> news);

  const base::Clock& clock_;
  NodeTable& nodes_;
  const std::optional<std::uint64_t> stop_after_steps_;
  const Hands hands_;
  ProgressTracker readings_;
  CheckpointWatch checkpoints_;
  LineNews line_news_;
  StepRate rate_;
  std::uint64_t furthest_ = 0;  // steps of the furthest rank at the last watch()
  std::optional<base::Nanos> stepped_at_;
  bool goal_reached_ = false;  // in this attempt
  base::Timer summary_timer_;
};

}  // namespace robustrun::supervisor
