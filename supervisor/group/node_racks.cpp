#include "supervisor/group/node_racks.h"

#include <set>

namespace robustrun::supervisor {

NodeRacks::NodeRacks(const topo::Cluster& cluster) {
  if (!topo::is_consistent(cluster)) return;
  std::set<std::string> names;
  for (std::size_t i = 0; i < cluster.nodes.size(); ++i) {
    const topo::Node& node = cluster.nodes[i];
    const auto& leaves = cluster.levels.front().switches;
    const std::string& rack = node.rack.empty() ? leaves[cluster.leaf_of[i]].name : node.rack;
    racks_.emplace(node.name, rack);
    names.insert(rack);
  }
  if (names.size() < 2) racks_.clear();
}

std::string NodeRacks::of(const std::string& node) const {
  const auto found = racks_.find(node);
  return found == racks_.end() ? std::string() : found->second;
}

}  // namespace robustrun::supervisor
