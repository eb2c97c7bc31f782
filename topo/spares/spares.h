#pragma once
// Which of the nodes that are left over are kept as spares. Internal to topo/.
//
// A lost place is best filled from below its own switch: then no group spreads further. So a spare
// is worth the places below its switches that no other spare is near to, weighted by level; among
// equals it is taken from a rack and a power supply that have fewer spares, so that one outage does
// not take them all.

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
