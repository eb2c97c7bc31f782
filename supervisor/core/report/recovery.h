#pragma once
// How a recovery went: its phases and the steps it cost, from the facts of two attempts. Pure.

#include "supervisor/core/report/facts.h"
#include "supervisor/core/report/report.h"

namespace robustrun::supervisor {

// Fills phases, recovery and the step members of `incident`, whose attempt failed at `seen_at`
// and was replaced by `next`. `handled_at` is when the core heard of the failure.
void describe_recovery(const Facts& facts, const AttemptFacts& failed, const AttemptFacts& next,
                       base::Nanos seen_at, base::Nanos handled_at, Incident& incident);

// The last step number known of an attempt.
std::optional<std::int64_t> last_step(const AttemptFacts& attempt);

}  // namespace robustrun::supervisor
