#pragma once
// What is said of a worker: in front of its lines, and of how far it is. Pure.

#include <string>

#include "tracer/record_file.h"
#include "wire/messages.h"

namespace robustrun::agent {

// As torchrun writes it before a teed line (TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE).
std::string line_prefix(const wire::WorkerTemplate& workers, const wire::WorkerSlot& slot);

wire::WorkerProgress progress_of(base::Attempt attempt, base::LocalRank rank,
                                 const tracer::Reading& reading);

}  // namespace robustrun::agent
