#pragma once
// A run's state from its journal, for a supervisor that takes the run over. Pure.

#include <optional>
#include <vector>

#include "base/core/result.h"
#include "supervisor/core/job/job.h"
#include "supervisor/core/report/report.h"
#include "supervisor/core/status/save_times.h"
#include "supervisor/core/status/status.h"

namespace robustrun::supervisor {

struct Folded {
  Job job;
  StatusFold status;
  SaveTimes saves;
  RunStarted run;
  // Times of the first and the last entry, by the supervisor's clock.
  base::Nanos started{};
  base::Nanos last{};
  // Entries that follow from the last event, but are missing because the supervisor died before it
  // wrote them.
  std::vector<JournalEntry> unwritten;
  std::optional<int> exit_code;  // set when the run has ended
};

// kCorrupt: the journal does not begin with a RunStarted of a run that can start, so the run cannot
// be taken over.
base::Result<Folded> fold(const std::vector<JournalEntry>& entries);

}  // namespace robustrun::supervisor
