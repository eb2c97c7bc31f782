#pragma once
// Chooses spares among the unused nodes. Internal to topo/.
//
// A lost place is best filled from below its own switch: then no group spreads further. A spare's
// worth is a sum over the switches above it that have no spare yet: the places below the switch,
// times the weight of its level. At equal worth, racks and power supplies with fewer spares come
// first, so that one outage does not take all spares.

#include <cstdint>
#include <span>
#include <vector>

#include "topo/network/cluster.h"
#include "topo/solve/score.h"

namespace robustrun::topo {

// At most `count` of `free` (ascending), the most useful first. `nodes`: by place.
std::vector<NodeIndex> choose_spares(const Cluster& cluster, const Objective& objective,
                                     std::span<const NodeIndex> nodes,
                                     std::span<const NodeIndex> free, std::uint32_t count);

}  // namespace robustrun::topo
