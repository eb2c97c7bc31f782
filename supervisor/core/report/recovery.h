#pragma once
// How a recovery went: its phases and the lost steps, from the facts of two attempts. Pure.

#include "supervisor/core/report/facts.h"
#include "supervisor/core/report/report.h"

namespace robustrun::supervisor {

// Fills these members of `incident`: phases, recovery, warm, cold, step_before, step_after and
// steps_lost. `failed` is the attempt in which the incident happened, at `seen_at`; the core learnt
// of it at `handled_at`. `next` is the attempt that followed.
void describe_recovery(const Facts& facts, const AttemptFacts& failed, const AttemptFacts& next,
                       base::Nanos seen_at, base::Nanos handled_at, Incident& incident);

// The attempt's last known step number.
std::optional<std::int64_t> last_step(const AttemptFacts& attempt);

}  // namespace robustrun::supervisor
