#pragma once
// The cost of a placement. Pure; in integers, so that every machine gets the same result.
//
// The spread of a group on a level is 0 if the group is below one switch, otherwise the number of
// switches that it touches (Arnold, arXiv 2509.15940, eq. 3); so it is never 1. The cost of a
// placement is the weighted sum, over kinds and levels, of the largest spread, because the slowest
// group delays all others (eq. 2). Of two placements with equal cost, the one with the smaller
// weighted sum of mean spreads is better.

#include <cstdint>
#include <span>
#include <vector>

#include "topo/network/cluster.h"
#include "topo/network/shape.h"
#include "topo/network/traffic.h"

namespace robustrun::topo {

struct Cost {
  std::int64_t worst = 0;  // millionths: weights of kind and level times the largest spreads
  std::int64_t mean = 0;   // millionths: the same with mean spreads
  auto operator<=>(const Cost&) const = default;
};

// By level, in millionths. The highest level with more than one switch weighs 1, every level below
// it a thousandth of the level above. A level with a single switch weighs 0. (Among nodes below one
// switch of that highest level, placement gains at most 0.3 %: Arnold, section 3.)
std::vector<std::int64_t> default_level_weights(const Cluster& cluster);

struct Objective {
  Weights kinds;
  std::vector<std::int64_t> levels;  // by level of the cluster
  template <class V>
  void fields(V& v) {
    v(1, "kinds", kinds);
    v(2, "levels", levels);
  }
};

// The spread of one family (all groups of one kind, network/shape.h) on one level.
struct Spread {
  GroupKind kind = GroupKind::kDp;
  std::uint32_t level = 0;
  std::uint32_t worst = 0;
  std::uint64_t sum = 0;  // over its groups
  std::uint32_t groups = 0;
  std::uint32_t worst_group = 0;  // index in the family
};

struct Score {
  Cost cost;
  std::vector<Spread> spreads;  // by family of the shape, then level
};

// `nodes`: by place, its node.
Score score(const Cluster& cluster, const Shape& shape, const Objective& objective,
            std::span<const NodeIndex> nodes);

// The spread of a group that touches this number of switches.
std::uint32_t spread_of(std::uint32_t switches_touched);

// The weight of a kind in Cost::mean, in millionths: `weight`, but at least 1. So a kind without
// weight in Cost::worst still breaks ties.
std::int64_t mean_weight(std::int64_t weight);

}  // namespace robustrun::topo
