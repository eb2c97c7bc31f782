#pragma once
// Where the time of a run went until now (report_time.h), entry by entry: for a supervisor, which
// does not keep its journal in memory. Pure.
//
// Keeps what the account needs, without texts: some entries per attempt, however many steps it
// does. Of an attempt in which more than kFailuresKept workers fail at once the first ones count.

#include <optional>
#include <vector>

#include "supervisor/core/report/report.h"

namespace robustrun::supervisor {

class TimeFold {
 public:
  void take(const JournalEntry& entry);
  // As the report of the same journal would say at `now`, or at its end if it has one; none for a
  // run of more incidents than kTimeEntriesMax entries hold.
  [[nodiscard]] std::optional<TimeReport> report(base::Nanos now) const;

 private:
  void take(const Event& event);
  void keep(JournalEntry entry);
  // The entry kept last, if it is an event of this kind.
  template <class Body>
  Body* newest();

  std::vector<JournalEntry> kept_;
  std::optional<std::uint32_t> attempt_;  // the newest one
  std::size_t failures_ = 0;  // of it
  bool finished_ = false;
  bool overflowed_ = false;
};

}  // namespace robustrun::supervisor
