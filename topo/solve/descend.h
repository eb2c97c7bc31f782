#pragma once
// Placement from the top of the tree down. Internal to topo/.
//
// On each level: if one switch holds all places, look below each such switch and take the best;
// otherwise divide the places among the switches (level_solver.h), and place each share below its
// own switch, with what is left of the groups there. What no level divides goes to the nodes in
// their order.

#include <cstdint>
#include <string>
#include <vector>

#include "topo/network/cluster.h"
#include "topo/network/shape.h"
#include "topo/solve/score.h"

namespace robustrun::topo {

struct Descent {
  std::vector<NodeIndex> nodes;  // by place
  // Of the highest level that divides the places, where all candidates were in play:
  bool divided = false;
  std::uint32_t level = 0;
  std::int64_t level_bound = 0;  // unweighted by level; see LevelSolution
  bool searched = false;
  bool filled = false;
  std::string how;
};

// `candidates` ascending. There are enough of each class for the places of that class.
Descent descend(const Cluster& cluster, const Objective& objective, const Shape& shape,
                const std::vector<std::uint32_t>& class_of_place,
                const std::vector<std::uint32_t>& class_of_node,
                const std::vector<NodeIndex>& candidates);

}  // namespace robustrun::topo
