#pragma once
// Chooses spares among the unused nodes. Internal to topo/.
//
// A lost node is best replaced from below its own switch: then no group spreads further. The worth
// of a spare is the sum, over the switches above it that have no spare yet, of the places below the
// switch times the weight of its level. At equal worth, racks and power supplies with fewer spares
// come first, so that one outage does not take all spares. Only the first kSparesWeighed spares are
// chosen in this way; further ones are taken in the order of the nodes.

#include <cstdint>
#include <span>
#include <vector>

#include "topo/network/cluster.h"
#include "topo/solve/score.h"

namespace robustrun::topo {

// Returns at most `count` of `free` (ascending), the most useful first. `nodes`: the working nodes,
// by place.
std::vector<NodeIndex> choose_spares(const Cluster& cluster, const Objective& objective,
                                     std::span<const NodeIndex> nodes,
                                     std::span<const NodeIndex> free, std::uint32_t count);

}  // namespace robustrun::topo
