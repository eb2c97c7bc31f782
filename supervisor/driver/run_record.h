#pragma once
// The record of a run: each entry goes to the journal, the status, the times of saves, and the
// outlets.
//
// Owned by the driver, on its loop. A journal that cannot be written does not end the run, but the
// report may have a gap.

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
  // When this returns, all that was written survives a loss of power.
  void sync() { note(journal_->sync()); }
  // Writes the entry that ends the run, and syncs.
  void write_last(const JournalEntry& entry);
  // Takes the job's state after an event was handled.
  void take(JobState state, base::Nanos at);
  // Adds the times of saves in another start of the same job.
  void add_saves(const SaveTimes& earlier) { saves_.add(earlier); }

  [[nodiscard]] const StatusFold& status() const { return status_; }
  [[nodiscard]] const LongestSaves& longest_saves() const { return saves_.longest(); }
  // Whether all workers of an attempt have run at the same time.
  [[nodiscard]] bool was_up() const { return was_up_; }
  // The newest kLostEntriesMax entries that could not be written to the journal. The final report
  // is made from the journal's file and would not know how the run ended without them.
  [[nodiscard]] const std::deque<JournalEntry>& lost() const { return lost_; }
  [[nodiscard]] std::string metrics_url() const;  // empty: metrics are not served

  // `status` can be called from now on, until end_outlets() has called `done`.
  void begin_outlets(std::function<RunStatus()> status);
  // Calls `done` once, from within this function or later from the loop.
  void end_outlets(std::function<void()> done);

 private:
  void note(const base::Status& written);

  std::optional<Journal> journal_;
  Outlets* outlets_ = nullptr;  // null: the run has none
  StatusFold status_;
  SaveTimes saves_;
  base::Nanos now_{};  // of the newest entry
  bool is_failing_ = false;  // it was logged that the journal cannot be written
  std::optional<base::Nanos> failed_at_;  // when that was logged last
  std::deque<JournalEntry> lost_;
  bool was_up_ = false;
};

}  // namespace robustrun::supervisor
