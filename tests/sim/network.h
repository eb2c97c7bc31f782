#pragma once
// The described network of a virtual cluster.

#include <set>
#include <string>

#include "supervisor/group/placer.h"
#include "tests/sim/event_queue.h"

namespace robustrun::sim {

// Two levels of switches; a few nodes are missing, and not every job fits.
inline supervisor::PlacementRequest draw_network(Dice& dice, const std::set<std::string>& names) {
  using topo::Rerank;
  supervisor::PlacementRequest placement;
  placement.enabled = true;
  placement.rerank = dice.one_of({Rerank::kNever, Rerank::kNever, Rerank::kNodes, Rerank::kAll});
  topo::Cluster& cluster = placement.cluster;
  cluster.source = "the scenario";
  cluster.levels.resize(2);
  cluster.levels[0].name = "leaf";
  cluster.levels[1].name = "minipod";
  for (std::uint64_t i = 1 + dice.below(2); i > 0; --i) {
    cluster.levels[1].switches.push_back({"m", 0});
  }
  for (std::uint64_t i = 1 + dice.below(3); i > 0; --i) {
    const auto parent = dice.below(cluster.levels[1].switches.size());
    cluster.levels[0].switches.push_back({"l", static_cast<std::uint32_t>(parent)});
  }
  for (const std::string& name : names) {
    if (dice.chance(0.02)) continue;
    const auto leaf = dice.below(cluster.levels[0].switches.size());
    cluster.nodes.push_back({name, 0, {}, {}, {}});
    cluster.leaf_of.push_back(static_cast<std::uint32_t>(leaf));
  }
  placement.parallel.pp = dice.one_of({1U, 1U, 1U, 2U});
  placement.objective.kinds.of_kind = {0, 0, 0, topo::kWhole / 2, topo::kWhole / 2};
  placement.objective.levels = default_level_weights(cluster);
  placement.costs.seconds_per_move = dice.one_of({0.0, 5.0});
  return placement;
}

}  // namespace robustrun::sim
