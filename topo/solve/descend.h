#pragma once
// Placement from the top of the tree down. Internal to topo/.
//
// On each level: if one switch holds all places, try each such switch and take the best; otherwise
// divide the places among the switches (level_solver.h), and place each share below its switch,
// with the parts of the groups there. Places that no level divides go to the nodes in order.

#include <cstdint>
#include <string>
#include <vector>

#include "topo/network/cluster.h"
#include "topo/network/shape.h"
#include "topo/solve/score.h"

namespace robustrun::topo {

struct Descent {
  std::vector<NodeIndex> nodes;  // by place
  // For the highest level that divides the places, with all candidates:
  bool divided = false;
  std::uint32_t level = 0;
  std::int64_t level_bound = 0;  // unweighted by level; see LevelSolution
  bool searched = false;
  bool filled = false;
  std::string how;
};

// `candidates` ascending, with enough nodes of each class for its places.
Descent descend(const Cluster& cluster, const Objective& objective, const Shape& shape,
                const std::vector<std::uint32_t>& class_of_place,
                const std::vector<std::uint32_t>& class_of_node,
                const std::vector<NodeIndex>& candidates);

}  // namespace robustrun::topo
