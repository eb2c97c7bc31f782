#pragma once
// Placement from the top of the tree down. Internal to topo/.
//
// On each level: if some switches have enough nodes for all places, try these switches (the
// smallest first, at most kWholeTriesMax) and take the best. Otherwise divide the places among the
// switches (level_solver.h), and place each share below its switch. There, a divided group counts
// only with its places in the share. When no level is left, places take nodes in order.

#include <cstdint>
#include <string>
#include <vector>

#include "topo/network/cluster.h"
#include "topo/network/shape.h"
#include "topo/solve/score.h"

namespace robustrun::topo {

struct Descent {
  std::vector<NodeIndex> nodes;  // by place
  // True: all candidates took part in the first (highest) division of the places, so level_bound
  // holds for every placement. False: the places were not divided, or only candidates below one
  // switch took part, because it has enough of them. The members below describe the first division.
  bool divided = false;
  std::uint32_t level = 0;
  std::int64_t level_bound = 0;  // LevelSolution::bound: without the weight of the level
  // As in LevelSolution. `how` is empty if the places were not divided.
  bool searched = false;
  std::string how;
};

// `candidates` are ascending. A class is a size of node (level_problem.h): a place takes a node of
// its class, and each class must have enough candidates.
Descent descend(const Cluster& cluster, const Objective& objective, const Shape& shape,
                const std::vector<std::uint32_t>& class_of_place,
                const std::vector<std::uint32_t>& class_of_node,
                const std::vector<NodeIndex>& candidates);

}  // namespace robustrun::topo
