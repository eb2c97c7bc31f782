#pragma once
// Which faults of a run were made on purpose, and which incidents they explain. Pure.

#include <vector>

#include "supervisor/core/report.h"
#include "supervisor/core/report_facts.h"

namespace robustrun::supervisor {

// All of the journal, in order.
[[nodiscard]] std::vector<InjectedFault> injected_faults(const Facts& facts);

// Fills `incident.injected`, whose attempt, rank, node and time are known.
void explain_by_injection(const std::vector<InjectedFault>& faults, Incident& incident);

}  // namespace robustrun::supervisor
