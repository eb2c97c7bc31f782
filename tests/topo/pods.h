#pragma once
// A cluster for tests of pictures and words: `pods` pods of two leaf switches with `nodes` nodes
// each, all named n1, n2, ... in order.

#include <fmt/format.h>

#include "topo/place.h"

namespace robustrun::topo::testing {

inline Cluster pods_cluster(std::uint32_t pods, std::uint32_t nodes, std::uint32_t slots) {
  Cluster cluster;
  cluster.source = "pods.toml";
  cluster.levels = {{"leaf", 0, {}}, {"pod", 0, {}}};
  for (std::uint32_t pod = 0; pod < pods; ++pod) {
    cluster.levels[1].switches.push_back({fmt::format("pod{}", pod), 0});
    for (int leaf = 0; leaf < 2; ++leaf) {
      const auto at = static_cast<std::uint32_t>(cluster.levels[0].switches.size());
      cluster.levels[0].switches.push_back({fmt::format("leaf{}", at), pod});
      for (std::uint32_t node = 0; node < nodes; ++node) {
        cluster.nodes.push_back({fmt::format("n{}", cluster.nodes.size() + 1), slots, "", "", ""});
        cluster.leaf_of.push_back(at);
      }
    }
  }
  return cluster;
}

// All nodes are candidates, in their order.
inline Problem problem_of(const Cluster& cluster, std::string_view parallel, std::uint32_t places,
                          std::uint32_t spares) {
  Problem problem;
  problem.cluster = &cluster;
  problem.parallel = parse_parallel(parallel).value();
  problem.objective.levels = default_level_weights(cluster);
  problem.objective.kinds = weights_for(problem.parallel, {}, 0.3);
  for (NodeIndex node = 0; node < cluster.nodes.size(); ++node) problem.candidates.push_back(node);
  problem.places = places;
  problem.spares = spares;
  return problem;
}

}  // namespace robustrun::topo::testing
