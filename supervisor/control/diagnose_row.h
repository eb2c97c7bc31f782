#pragma once
// The row "diagnose" of the control server's table, and its answer: a verdict about what the
// workers of a run are doing now.

#include <functional>

#include "base/core/result.h"
#include "supervisor/control/json.h"
#include "supervisor/control/server.h"
#include "tracer/analysis/verdict.h"

namespace robustrun::supervisor {

// `look` calls its argument once, with null when no worker is running or the look had no result.
using LookAtWorkers = std::function<void(std::function<void(const tracer::Verdict*)>)>;
[[nodiscard]] ControlServer::Row diagnose_row(LookAtWorkers look);

// kCorrupt: an answer of another version.
[[nodiscard]] base::Result<tracer::Verdict> read_verdict(const ControlFields& answer);

}  // namespace robustrun::supervisor
