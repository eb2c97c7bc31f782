#pragma once
// Random clusters and jobs, the same everywhere for one seed.

#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "base/core/clock.h"
#include "topo/place.h"

namespace robustrun::topo::drawn {

class Draw {
 public:
  explicit Draw(std::uint64_t seed) : rng_(seed) {}
  std::uint32_t operator()(std::uint32_t least, std::uint32_t most) {
    return least + static_cast<std::uint32_t>(rng_.below(most - least + 1));
  }
  template <class T>
  void shuffle(std::vector<T>& items) {
    for (std::size_t i = items.size(); i > 1; --i) std::swap(items[i - 1], items[rng_.below(i)]);
  }

 private:
  base::Rng rng_;
};

// One minipod per size in nodes, with `per_leaf` nodes below a leaf (0: no leaves).
inline Cluster cluster_of(const std::vector<std::uint32_t>& minipods, std::uint32_t per_leaf,
                          std::uint32_t slots = 8) {
  Cluster cluster;
  cluster.source = "a drawn cluster";
  if (per_leaf > 0) cluster.levels.push_back({"leaf", 0, {}});
  cluster.levels.push_back({"minipod", 0, {}});
  for (std::uint32_t pod = 0; pod < minipods.size(); ++pod) {
    cluster.levels.back().switches.push_back({"pod" + std::to_string(pod), 0});
    for (std::uint32_t i = 0; i < minipods[pod]; ++i) {
      auto& leaves = cluster.levels.front().switches;
      if (per_leaf > 0 && i % per_leaf == 0) {
        leaves.push_back({"leaf" + std::to_string(leaves.size()), pod});
      }
      cluster.leaf_of.push_back(per_leaf > 0 ? static_cast<std::uint32_t>(leaves.size() - 1) : pod);
      Node& node = cluster.nodes.emplace_back();
      node.name = "n" + std::to_string(cluster.nodes.size());
      node.slots = slots;
    }
  }
  return cluster;
}

inline Objective objective_of(const Cluster& cluster, std::int64_t alpha_percent) {
  Objective objective;
  objective.kinds.of_kind = {0, 0, 0, alpha_percent * 10'000, kWhole - alpha_percent * 10'000};
  objective.levels = default_level_weights(cluster);
  return objective;
}

inline Problem problem_of(const Cluster& cluster, std::uint32_t places, const Parallel& parallel,
                          std::int64_t alpha_percent) {
  Problem problem;
  problem.cluster = &cluster;
  problem.parallel = parallel;
  problem.objective = objective_of(cluster, alpha_percent);
  problem.candidates.resize(cluster.nodes.size());
  std::iota(problem.candidates.begin(), problem.candidates.end(), 0);
  problem.places = places;
  return problem;
}

// A job that fits into the cluster, of 8 ranks a node.
inline Problem draw_problem(Draw& draw, const Cluster& cluster) {
  constexpr std::uint32_t kTp[] = {1, 2, 4, 8, 16};
  constexpr std::uint32_t kPp[] = {1, 2, 3, 4, 8};
  constexpr std::int64_t kAlpha[] = {0, 30, 50};
  const auto nodes = static_cast<std::uint32_t>(cluster.nodes.size());
  Parallel parallel;
  std::uint32_t unit = 0;
  do {
    parallel.tp = kTp[draw(0, 4)];
    parallel.pp = kPp[draw(0, 4)];
    unit = parallel.pp * (parallel.tp > 8 ? parallel.tp / 8 : 1);
  } while (unit > nodes);
  const std::uint32_t places = draw(1, nodes / unit) * unit;
  Problem problem = problem_of(cluster, places, parallel, kAlpha[draw(0, 2)]);
  if (parallel.tp > 8) problem.objective.kinds.of_kind[0] = kWhole / 2;
  return problem;
}

inline std::vector<std::uint32_t> draw_minipods(Draw& draw, std::uint32_t most_pods,
                                                std::uint32_t most_nodes) {
  std::vector<std::uint32_t> minipods(draw(1, most_pods));
  for (std::uint32_t& nodes : minipods) nodes = draw(1, most_nodes);
  return minipods;
}

}  // namespace robustrun::topo::drawn
