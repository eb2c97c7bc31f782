#include "topo/solve/score.h"

#include <algorithm>

namespace robustrun::topo {
namespace {

// Number of distinct switches of a group's places.
class Counter {
 public:
  explicit Counter(std::size_t switches) : seen_in_(switches, 0) {}
  std::uint32_t count(std::span<const PlaceIndex> group, std::span<const std::uint32_t> switch_at) {
    ++stamp_;
    std::uint32_t touched = 0;
    for (const PlaceIndex place : group) {
      if (std::exchange(seen_in_[switch_at[place]], stamp_) != stamp_) ++touched;
    }
    return touched;
  }

 private:
  std::vector<std::uint32_t> seen_in_;
  std::uint32_t stamp_ = 0;
};

}  // namespace

std::uint32_t spread_of(std::uint32_t switches_touched) {
  return switches_touched < 2 ? 0 : switches_touched;
}

std::int64_t mean_weight(std::int64_t weight) { return std::max<std::int64_t>(weight, 1); }

std::vector<std::int64_t> default_level_weights(const Cluster& cluster) {
  constexpr std::int64_t kLevelBelow = 1000;
  std::vector<std::int64_t> weights(cluster.levels.size(), 0);
  std::int64_t weight = kWhole;
  for (std::size_t level = weights.size(); level-- > 0;) {
    if (cluster.levels[level].switches.size() < 2) continue;
    weights[level] = weight;
    weight = std::max<std::int64_t>(1, weight / kLevelBelow);
  }
  return weights;
}

Score score(const Cluster& cluster, const Shape& shape, const Objective& objective,
            std::span<const NodeIndex> nodes) {
  RR_ASSERT(nodes.size() == shape.places() && objective.levels.size() == cluster.levels.size());
  Score result;
  std::vector<std::vector<std::uint32_t>> switch_at(cluster.levels.size());  // by level, place
  for (const NodeIndex node : nodes) {
    std::uint32_t at = cluster.leaf_of[node];
    for (std::size_t level = 0; level < cluster.levels.size(); ++level) {
      switch_at[level].push_back(at);
      at = cluster.levels[level].switches[at].parent;
    }
  }
  std::vector<Cost> of_level(cluster.levels.size());
  for (const Family& family : shape.families) {
    for (std::uint32_t level = 0; level < cluster.levels.size(); ++level) {
      Spread spread{family.kind, level, 0, 0, family.groups(), 0};
      Counter counter(cluster.levels[level].switches.size());
      for (std::uint32_t g = 0; g < family.groups(); ++g) {
        const std::uint32_t one = spread_of(counter.count(family.group(g), switch_at[level]));
        spread.sum += one;
        if (one > spread.worst) {
          spread.worst = one;
          spread.worst_group = g;
        }
      }
      const std::int64_t weight = objective.kinds.of(family.kind);
      of_level[level].worst += weight * spread.worst;
      of_level[level].mean +=
          mean_weight(weight) * static_cast<std::int64_t>(spread.sum) / spread.groups;
      result.spreads.push_back(spread);
    }
  }
  for (std::size_t level = 0; level < of_level.size(); ++level) {
    result.cost.worst += of_level[level].worst * objective.levels[level] / kWhole;
    result.cost.mean += of_level[level].mean * objective.levels[level] / kWhole;
  }
  return result;
}

}  // namespace robustrun::topo
