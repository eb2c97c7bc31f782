#pragma once
// Clusters as text that does not depend on how nodes and switches are numbered.

#include <algorithm>
#include <string>
#include <vector>

#include "topo/network/cluster.h"

namespace robustrun::topo {

// " switch switch ...", from the bottom up.
inline std::string path_of(const Cluster& cluster, NodeIndex node) {
  std::string path;
  for (std::size_t level = 0; level < cluster.levels.size(); ++level) {
    path += " " + cluster.levels[level].switches[switch_of(cluster, node, level)].name;
  }
  return path;
}

// "node: switch switch ...", one line per node in the cluster's order.
inline std::string shown(const Cluster& cluster) {
  std::string text;
  for (NodeIndex node = 0; node < cluster.nodes.size(); ++node) {
    text += cluster.nodes[node].name + ":" + path_of(cluster, node) + "\n";
  }
  return text;
}

// All facts about nodes and levels, sorted.
inline std::vector<std::string> facts(const Cluster& cluster) {
  std::vector<std::string> lines;
  for (NodeIndex node = 0; node < cluster.nodes.size(); ++node) {
    const Node& it = cluster.nodes[node];
    lines.push_back(it.name + " " + std::to_string(it.slots) + " " + it.nvl_domain + " " + it.rack +
                    " " + it.power + ":" + path_of(cluster, node));
  }
  for (const Level& level : cluster.levels) {
    lines.push_back(level.name + " " + std::to_string(level.gbps) + " " +
                    std::to_string(level.switches.size()));
  }
  std::ranges::sort(lines);
  return lines;
}

}  // namespace robustrun::topo
