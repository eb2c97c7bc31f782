#pragma once
// A job under robustrun: the real core (supervisor/core/job/job.h), with its policy, budgets and
// timers, in a virtual cluster. Faults of the trace reach the core as the events of a real run; the
// core's orders are carried out after the times in OwnTimes. Deterministic.
//
// Each machine has one rank. Evicted machines are repaired and then join as new nodes (as if a user
// started an agent there); the core itself retries machines that are gone. When the core gives up,
// the job is started anew without the broken machines, after OwnTimes::requeue.

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
  // How lost machines are waited for; nullopt: as by default in a real run.
  std::optional<supervisor::GroupPolicy> group;
};

// Replaces the call of the core, for measurements. Must return the actions of `job` for the event.
using AskCore =
    std::function<std::vector<supervisor::Action>(supervisor::Job& job, const supervisor::Event&)>;

// Training begins at time 0 of the trace. `trace` may name more machines than the job has.
[[nodiscard]] Timeline run_own(const OwnPolicy& own, const JobTerms& job,
                               const std::vector<TracedFault>& trace, std::uint64_t seed,
                               const AskCore& ask = {});

}  // namespace robustrun::simulator
