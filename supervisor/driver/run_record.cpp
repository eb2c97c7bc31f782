#include "supervisor/driver/run_record.h"

#include <utility>

#include "base/io/log.h"
#include "supervisor/limits.h"
#include "supervisor/outlets/outlets.h"

namespace robustrun::supervisor {

void RunRecord::take_over(const Folded& folded) {
  status_ = folded.status;
  saves_ = folded.saves;
  for (const JournalEntry& entry : folded.unwritten) write(entry);
}

void RunRecord::write(const JournalEntry& entry) {
  status_.take(entry);
  saves_.take(entry);
  if (outlets_ != nullptr) outlets_->take(entry);
  const base::Status written = journal_->append(entry);
  if (!written) {
    if (lost_.size() == kLostEntriesMax) lost_.pop_front();
    lost_.push_back(entry);
  }
  now_ = entry.at;
  note(written);
}

void RunRecord::write_last(const JournalEntry& entry) {
  write(entry);
  static_cast<void>(journal_->sync());  // the report is only poorer without it
}

void RunRecord::note(const base::Status& written) {
  if (written) {
    if (std::exchange(is_failing_, false)) RR_LOG(kWarn, {}, "the journal can be written again");
    return;
  }
  // On a full disk small entries may fit between larger ones: one pair of lines in a while.
  if (is_failing_ || (failed_at_ && now_ - *failed_at_ < kJournalTroubleInterval)) return;
  is_failing_ = true;
  failed_at_ = now_;
  // A full disk must not end the training; the report will have a gap, and tells so.
  RR_LOG(kError, {}, "{}; the run goes on, its report will be incomplete", written.error().what);
}

void RunRecord::take(JobState state, base::Nanos at) {
  was_up_ = was_up_ || state == JobState::kRunning;
  if (outlets_ != nullptr) outlets_->take(state, at);
}

std::string RunRecord::metrics_url() const {
  return outlets_ != nullptr ? outlets_->metrics_url() : std::string();
}

void RunRecord::begin_outlets(std::function<RunStatus()> status) {
  if (outlets_ != nullptr) outlets_->begin(std::move(status));
}

void RunRecord::end_outlets(std::function<void()> done) {
  if (outlets_ == nullptr) return done();
  outlets_->end(std::move(done));
}

}  // namespace robustrun::supervisor
