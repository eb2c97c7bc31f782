#pragma once
// Faults of a run, by the simulator's kinds, from the run's journal. Used only by record_of()
// (run_record.h). Each attempt that a fault ended counts as one fault. Its kind is that of the
// first cause that the core decided on. A slow machine is one fault, too; if it was replaced, the
// end of that attempt is not counted in addition.

#include <map>
#include <vector>

#include "simulator/run_record.h"
#include "supervisor/core/report/facts.h"
#include "supervisor/core/report/time/account.h"

namespace robustrun::simulator {

struct RunFaults {
  std::vector<SeenFault> faults;  // in order of time
  std::uint32_t by_user = 0;  // restarts for updates; stops by users, the scheduler or a time limit
  std::vector<Nanos> slow_for;  // of machines that were slow and recovered by themselves
};

// `moments`: by attempt.
[[nodiscard]] RunFaults faults_of(
    const supervisor::Facts& facts, const std::vector<supervisor::JournalEntry>& entries,
    const std::map<std::uint32_t, supervisor::AttemptMoments>& moments);

}  // namespace robustrun::simulator
