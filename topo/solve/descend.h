#pragma once
// Placement from the top of the tree down. Internal to topo/.
//
// On each level: if switches exist that have enough nodes for all places, try them, the smallest
// first and at most kWholeTriesMax, and take the best; otherwise divide the places among the
// switches (level_solver.h) and place each share below its switch. Below a switch, a divided group
// consists of those of its places that are in this switch's share. Places that no level divides go
// to the nodes in order.

#include <cstdint>
#include <string>
#include <vector>

#include "topo/network/cluster.h"
#include "topo/network/shape.h"
#include "topo/solve/score.h"

namespace robustrun::topo {

struct Descent {
  std::vector<NodeIndex> nodes;  // by place
  // Whether the first division of the places was over all candidates, so that level_bound holds for
  // every placement. False: it was over the candidates below one switch that has enough of them, or
  // the places were not divided. The members below describe the first (highest) division.
  bool divided = false;
  std::uint32_t level = 0;
  std::int64_t level_bound = 0;  // LevelSolution::bound: without the weight of the level
  // As in LevelSolution.
  bool searched = false;
  bool filled = false;
  std::string how;
};

// `candidates` ascending. A class is a size of node (level_problem.h): a place takes a node of its
// class, and of each class there must be enough candidates.
Descent descend(const Cluster& cluster, const Objective& objective, const Shape& shape,
                const std::vector<std::uint32_t>& class_of_place,
                const std::vector<std::uint32_t>& class_of_node,
                const std::vector<NodeIndex>& candidates);

}  // namespace robustrun::topo
