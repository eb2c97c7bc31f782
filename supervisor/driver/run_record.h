#pragma once
// What a run leaves of itself: each entry is journaled, counts for the status and for the times of
// saves, and goes to the outlets.
//
// Owned by the driver, on its loop. A journal that cannot be written does not end the run: its
// report will have a gap.

#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "supervisor/core/job/job.h"
#include "supervisor/core/status/fold.h"
#include "supervisor/core/status/save_times.h"
#include "supervisor/run_dir/journal.h"

namespace robustrun::supervisor {

class Outlets;

class RunRecord {
 public:
  // Must come before the first entry.
  void record_to(Journal journal) { journal_.emplace(std::move(journal)); }
  // `outlets` outlives this object.
  void publish_to(Outlets& outlets) { outlets_ = &outlets; }
  // Continues where the journal of another supervisor ends, and writes what is missing there.
  void take_over(const Folded& folded);

  void write(const JournalEntry& entry);
  // All that was written survives a loss of power.
  void sync() { note(journal_->sync()); }
  void write_last(const JournalEntry& entry);
  // After an event was handled.
  void take(JobState state, base::Nanos at);
  // Of another start of the same job.
  void add_saves(const SaveTimes& earlier) { saves_.add(earlier); }

  [[nodiscard]] const StatusFold& status() const { return status_; }
  [[nodiscard]] const LongestSaves& longest_saves() const { return saves_.longest(); }
  // All workers of an attempt have run at the same time.
  [[nodiscard]] bool was_up() const { return was_up_; }
  // Entries that the journal did not take, the newest kLostEntriesMax of them: it is read again for
  // the final report, which would not know how the run ended.
  [[nodiscard]] const std::deque<JournalEntry>& lost() const { return lost_; }
  [[nodiscard]] std::string metrics_url() const;  // empty: metrics are not served

  // `status` can be called from now on, until end_outlets() has called `done`.
  void begin_outlets(std::function<RunStatus()> status);
  // Calls `done` once, at once or from the loop.
  void end_outlets(std::function<void()> done);

 private:
  void note(const base::Status& written);

  std::optional<Journal> journal_;
  Outlets* outlets_ = nullptr;  // null: the run has none
  StatusFold status_;
  SaveTimes saves_;
  base::Nanos now_{};  // of the newest entry
  bool is_failing_ = false;  // the journal, as it was last said
  std::optional<base::Nanos> failed_at_;  // when that was said last
  std::deque<JournalEntry> lost_;
  bool was_up_ = false;
};

}  // namespace robustrun::supervisor
