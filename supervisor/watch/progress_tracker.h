#pragma once
// Folds many readings of many workers into few marks of the whole group. Pure; the caller gives the
// time.
//
// Each worker sends up to ten readings a second, which are not journaled. A mark (Progress in
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
  // The marks that the group reaches with this reading, in order. A reading of another attempt is
  // ignored.
  std::vector<Progress> take(base::Rank rank, const wire::WorkerProgress& reading,
                             base::NodeId node = {});
  // The rank's worker has ended at `at`, and with it the wait for training data that it may have
  // been in.
  void end(base::Rank rank, base::Nanos at);
  // Alarms from the metrics of speaker() (core/status/metric_watch.h). Readings of other ranks are
  // ignored.
  std::vector<MetricAlarm> watch(base::Rank rank, const wire::WorkerProgress& reading,
                                 base::Nanos now);
  // The rank whose metrics are the job's: rank 0, or the last rank if only its output has metrics,
  // as with Megatron-LM.
  [[nodiscard]] base::Rank speaker() const;
  // The newest state as a kSummary mark; nullopt when no reading came since the last summary
  // and no rank waits for training data.
  std::optional<Progress> summary(base::Nanos now);
  // The newest state, whether it changed or not.
  [[nodiscard]] Progress newest() const { return mark(Progress::Mark::kSummary); }
  // How long a rank has waited for training data in this attempt.
  struct DataWait {
    base::Nanos waited{};  // sum of all waits, including `lasting`
    std::optional<base::Nanos> lasting;  // the current wait so far; nullopt: the rank does not wait
    std::string place;  // what the rank waits for now; empty: unknown
    std::uint64_t skipped = 0;  // records of text that the training skips
  };
  [[nodiscard]] DataWait data_wait_of(base::Rank rank, base::Nanos now) const;
  // The least step_of() of all ranks. If a rank has none, the least steps_of().
  [[nodiscard]] std::uint64_t steps_done() const;
  // The most optimizer steps that a rank has done in this attempt.
  [[nodiscard]] std::uint64_t furthest() const;
  // Optimizer steps that the rank has done in this attempt.
  [[nodiscard]] std::uint64_t steps_of(base::Rank rank) const;
  // The number of the rank's last step: from the script or, if the script gives none, from the
  // state of its optimizer, which counts across attempts; nullopt: unknown.
  [[nodiscard]] std::optional<std::int64_t> step_of(base::Rank rank) const;

 private:
  [[nodiscard]] Progress mark(Progress::Mark kind) const;
  [[nodiscard]] std::optional<std::int64_t> least_step() const;
  using Moment = std::optional<base::Nanos> wire::WorkerProgress::*;
  // When the last rank reached `moment`; nullopt while a rank has not. `waits_for`: a rank that had
  // not reached it at the last call. It is looked at first, as there may be thousands of ranks with
  // ten readings a second each.
  [[nodiscard]] std::optional<base::Nanos> reached_by_all(Moment moment,
                                                          std::size_t& waits_for) const;
  // 0 while a rank has done no step.
  [[nodiscard]] base::Nanos last_step_of_all() const;
  [[nodiscard]] bool has_caught_up();
  // By node: when its last rank reached `moment`. All ranks have reached it.
  [[nodiscard]] std::vector<NodeMark> by_node(Moment moment) const;

  base::Attempt attempt_;
  std::vector<wire::WorkerProgress> newest_;  // by rank
  std::vector<base::NodeId> node_of_;  // by rank
  std::optional<std::int64_t> furthest_step_;  // that all ranks have done in an earlier attempt
  MetricWatch metrics_;
  // The ranks `waits_for` of reached_by_all(), and the like for has_caught_up().
  std::size_t user_code_waits_ = 0, first_step_waits_ = 0, caught_up_waits_ = 0;
  bool user_code_ = false;
  bool first_step_ = false;
  bool caught_up_ = false;
  bool changed_ = false;
};

}  // namespace robustrun::supervisor
