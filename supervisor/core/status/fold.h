#pragma once
// A run's state from its journal: what a supervisor that takes the run over must know. Pure.

#include <optional>
#include <vector>

#include "base/core/result.h"
#include "supervisor/core/job/job.h"
#include "supervisor/core/report/report.h"
#include "supervisor/core/status/status.h"

namespace robustrun::supervisor {

struct Folded {
  Job job;
  StatusFold status;
  RunStarted run;
  base::Nanos started{}, last{};   // of the first and the last entry, by the supervisor's clock
  // What followed from the last event and is missing in the journal: its writer died in between.
  std::vector<JournalEntry> unwritten;
  std::optional<int> exit_code;  // the run has ended: nothing is left to do
};

// kCorrupt when the journal does not begin with RunStarted: there is nothing to go on with.
base::Result<Folded> fold(const std::vector<JournalEntry>& entries);

}  // namespace robustrun::supervisor
