#pragma once
// The job's parallel groups by name, for whoever has to say in which one something happens. Pure.

#include <cstdint>
#include <vector>

#include "topo/network/parallel.h"
#include "tracer/analysis/snapshot.h"

namespace robustrun::supervisor {

// "tp_0", "tp_1", …, "dp_0", …: per kind of two ranks or more, numbered by their least rank. Empty
// where the job did not say how it is parallel, or said what `world` ranks cannot be.
[[nodiscard]] std::vector<tracer::RankGroup> rank_layout(const topo::Parallel& parallel,
                                                         std::uint32_t world);

}  // namespace robustrun::supervisor
