#pragma once
// Folds many readings of many workers into few marks of the whole group: pure, no clock.
//
// Of each worker up to ten readings a second arrive, which are not journaled. A mark (Progress in
// supervisor/core/types/events.h) is journaled when every rank has reached it. Owned by the driver,
// one for the run.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/ids.h"
#include "supervisor/core/status/metric_watch.h"
#include "supervisor/core/types/events.h"
#include "wire/messages/messages.h"

namespace robustrun::supervisor {

class ProgressTracker {
 public:
  void begin_attempt(base::Attempt attempt, std::uint32_t world_size);
  // Marks reached by this reading, in order. A reading of another attempt gives none.
  std::vector<Progress> take(base::Rank rank, const wire::WorkerProgress& reading,
                             base::NodeId node = {});
  // Alarms from the metrics of speaker() (core/status/metric_watch.h); other ranks give none.
  std::vector<MetricAlarm> watch(base::Rank rank, const wire::WorkerProgress& reading,
                                 base::Nanos now);
  // The rank whose metrics are the job's: the last one if its output held metrics (Megatron-LM's
  // does) and rank 0 has none, else rank 0.
  [[nodiscard]] base::Rank speaker() const;
  // The newest state as a kSummary mark; nullopt when no reading came since the last summary
  // and no rank waits for training data.
  std::optional<Progress> summary(base::Nanos now);
  // The newest state, whether it changed or not.
  [[nodiscard]] Progress newest() const { return mark(Progress::Mark::kSummary); }
  // How long a rank has waited for training data in this attempt until `now`, the wait that lasts,
  // and what it waits for.
  struct DataWait {
    base::Nanos waited{};  // with `lasting`
    std::optional<base::Nanos> lasting;
    std::string place;
    std::uint64_t skipped = 0;  // records of text that the training skips
  };
  [[nodiscard]] DataWait data_wait_of(base::Rank rank, base::Nanos now) const;
  // Least of all ranks: the number of the step, from the script or else from its optimizer's state,
  // when every rank has one; otherwise the number of optimizer steps since the attempt's start.
  [[nodiscard]] std::uint64_t steps_done() const;
  // Optimizer steps of the furthest rank, of this attempt.
  [[nodiscard]] std::uint64_t furthest() const;
  // Steps done by one rank in this attempt, and the number of its last step as in steps_done(), if
  // known.
  [[nodiscard]] std::uint64_t steps_of(base::Rank rank) const;
  [[nodiscard]] std::optional<std::int64_t> step_of(base::Rank rank) const;

 private:
  [[nodiscard]] Progress mark(Progress::Mark kind) const;
  [[nodiscard]] std::optional<std::int64_t> least_step() const;
  using Moment = std::optional<base::Nanos> wire::WorkerProgress::*;
  // When the last rank got there; nullopt while one has not. `waits_for`: a rank that had not got
  // there when last asked. It is looked at first, as each of thousands of ranks asks ten times a
  // second.
  [[nodiscard]] std::optional<base::Nanos> reached_by_all(Moment moment,
                                                          std::size_t& waits_for) const;
  // 0 while a rank has done no step.
  [[nodiscard]] base::Nanos last_step_of_all() const;
  [[nodiscard]] bool has_caught_up();
  // By node: when its last rank reached `moment`. All ranks have reached it.
  [[nodiscard]] std::vector<NodeMark> by_node(Moment moment) const;

  base::Attempt attempt_;
  std::vector<wire::WorkerProgress> newest_;  // by rank
  std::vector<base::NodeId> node_of_;  // likewise
  std::optional<std::int64_t> furthest_step_;  // of all attempts before
  MetricWatch metrics_;
  // reached_by_all() waits for these ranks.
  std::size_t user_code_waits_ = 0, first_step_waits_ = 0, caught_up_waits_ = 0;
  bool user_code_ = false;
  bool first_step_ = false;
  bool caught_up_ = false;
  bool changed_ = false;
};

}  // namespace robustrun::supervisor
