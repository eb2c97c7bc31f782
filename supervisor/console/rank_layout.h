#pragma once
// Names of the job's parallel groups, for messages about an event in such a group. Pure.

#include <cstdint>
#include <vector>

#include "topo/network/parallel.h"
#include "tracer/analysis/snapshot.h"

namespace robustrun::supervisor {

// "tp_0", "tp_1", …, "dp_0", …: the groups of each kind (tp, cp, dp, pp) whose size is at least
// two, numbered in the order of their least ranks. Empty if the parallelism is unknown, or does not
// fit `world` ranks.
[[nodiscard]] std::vector<tracer::RankGroup> rank_layout(const topo::Parallel& parallel,
                                                         std::uint32_t world);

}  // namespace robustrun::supervisor
