#pragma once
// The account of a run's time so far (account.h), made entry by entry, as the supervisor does not
// keep its journal in memory. Pure.
//
// Keeps only the entries that the account needs, without their texts: a few per attempt, however
// many steps it does. If more than kFailuresKept workers fail in an attempt, the first ones count.

#include <optional>
#include <vector>

#include "supervisor/core/report/report.h"

namespace robustrun::supervisor {

class TimeFold {
 public:
  void take(const JournalEntry& entry);
  // The account at `now`, or at the run's end if it has ended. It is that of account_time() for the
  // journal so far, except that the end of a hang, if it is not journaled, may be estimated
  // differently. nullopt: more than kTimeEntriesMax entries had to be kept.
  [[nodiscard]] std::optional<TimeReport> report(base::Nanos now) const;

 private:
  void take(const Event& event);
  void keep(JournalEntry entry);
  // The entry kept last, if it is an event of this kind.
  template <class Body>
  Body* newest();

  std::vector<JournalEntry> kept_;
  std::optional<std::uint32_t> attempt_;  // the newest one
  std::size_t failures_ = 0;  // of the newest attempt
  bool finished_ = false;
  bool overflowed_ = false;
};

}  // namespace robustrun::supervisor
