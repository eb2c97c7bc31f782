#pragma once
// How many groups reach beyond a switch: their traffic crosses its uplink. Pure.

#include <cstdint>
#include <vector>

#include "topo/network/cluster.h"
#include "topo/network/shape.h"

namespace robustrun::topo {

struct Crossing {
  std::uint32_t groups = 0;  // groups of ranks with members below the switch
  std::uint32_t beyond = 0;  // groups that also have members elsewhere
};

// Returns counts by level of the cluster, then by switch. `nodes`: by place, its node. Groups
// within one node are not counted.
std::vector<std::vector<Crossing>> crossings(const Cluster& cluster, const Family& family,
                                             const std::vector<NodeIndex>& nodes);

}  // namespace robustrun::topo
