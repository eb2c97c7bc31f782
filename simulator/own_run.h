#pragma once
// A job under robustrun: the real core (supervisor/core/job/job.h), with its policy, its budgets
// and its timers, in a virtual cluster. Faults of the trace reach it as the events that agents
// would send; what it orders is carried out after the stage times. Deterministic.
//
// One slot stands for a machine. Machines that were evicted are repaired, and then offer themselves
// as new nodes (as an agent does that somebody starts there); a machine that is gone is tried again
// by the core itself. When the run ends, the job is started anew without the broken machines.

#include <functional>
#include <optional>
#include <vector>

#include "simulator/account.h"
#include "simulator/fault_trace.h"
#include "simulator/job_terms.h"
#include "simulator/own_times.h"
#include "supervisor/core/job/job.h"
#include "supervisor/core/types/fault_table.h"
#include "supervisor/core/types/policy.h"

namespace robustrun::simulator {

struct OwnPolicy {
  std::vector<supervisor::FaultRow> faults;
  supervisor::Policy policy;
  OwnTimes times;
  supervisor::RestartPolicy restart;
  // How lost machines are waited for; none: as shipped.
  std::optional<supervisor::GroupPolicy> group;
};

// How the core is asked, for whoever measures it: it must return what `job` says of the event.
using AskCore =
    std::function<std::vector<supervisor::Action>(supervisor::Job& job, const supervisor::Event&)>;

// Training begins at the trace's 0. `trace` may name more machines than the job has.
[[nodiscard]] Timeline run_own(const OwnPolicy& own, const JobTerms& job,
                               const std::vector<TracedFault>& trace, std::uint64_t seed,
                               const AskCore& ask = {});

}  // namespace robustrun::simulator
