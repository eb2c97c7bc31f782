#pragma once
// What a harness was told, and what it decided, as the journal of a run.

#include <vector>

#include "supervisor/core/report/report.h"
#include "tests/supervisor/job_harness.h"

namespace robustrun::supervisor::test {

class JobJournal {
 public:
  // With what has happened so far.
  explicit JobJournal(Harness& harness) : harness_(harness) {
    for (const Event& event : harness.journal) entries.push_back({event.at, event});
  }
  void tell(const Event& event) {
    entries.push_back({event.at, event});
    for (const Action& action : harness_.tell(event)) {
      if (const auto* decision = std::get_if<Decision>(&action)) {
        entries.push_back({event.at, *decision});
      }
    }
  }

  std::vector<JournalEntry> entries;

 private:
  Harness& harness_;
};

}  // namespace robustrun::supervisor::test
