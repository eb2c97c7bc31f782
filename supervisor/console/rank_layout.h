#pragma once
// Names of the job's parallel groups, for messages about something that happens in one. Pure.

#include <cstdint>
#include <vector>

#include "topo/network/parallel.h"
#include "tracer/analysis/snapshot.h"

namespace robustrun::supervisor {

// "tp_0", "tp_1", …, "dp_0", …: the groups of each kind but ep that has two ranks or more, numbered
// by their least rank. Empty where the parallelism is unknown, or does not fit `world` ranks.
[[nodiscard]] std::vector<tracer::RankGroup> rank_layout(const topo::Parallel& parallel,
                                                         std::uint32_t world);

}  // namespace robustrun::supervisor
