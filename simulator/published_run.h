#pragma once
// A job under another system's policy (published_policy.h), over the same trace as run_own(): time
// goes from fault to fault, each of which costs the policy's stage times. Deterministic. Pure.

#include <vector>

#include "simulator/account.h"
#include "simulator/fault_trace.h"
#include "simulator/job_terms.h"
#include "simulator/published_policy.h"

namespace robustrun::simulator {

// Training begins at time 0 of the trace. `trace` may name more machines than the job has.
[[nodiscard]] Timeline run_published(const PublishedPolicy& policy, const JobTerms& job,
                                     const std::vector<TracedFault>& trace);

// When the job's checkpoints are made under this policy.
[[nodiscard]] CheckpointPlan checkpoints_of(const PublishedPolicy& policy, const JobTerms& job);

}  // namespace robustrun::simulator
