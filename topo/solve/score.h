#pragma once
// How good a placement is. Pure; integers, so that every machine comes to the same result.
//
// The spread of a group on a level is 0 if all of it is below one switch, else the number of
// switches it touches (Arnold, arXiv 2509.15940, eq. 3: never 1). A placement's cost is the
// weighted sum over kinds and levels of the largest spread (eq. 2: the slowest group holds up all
// others), and among equals that of the mean spread.

#include <cstdint>
#include <span>
#include <vector>

#include "topo/network/cluster.h"
#include "topo/network/shape.h"
#include "topo/network/traffic.h"

namespace robustrun::topo {

struct Cost {
  std::int64_t worst = 0;  // millionths: weights of kind and level times the largest spreads
  std::int64_t mean = 0;   // millionths: the same of the mean spreads
  auto operator<=>(const Cost&) const = default;
};

// By level, in millionths. By default every level counts a thousandth of the one above it, the
// highest that divides the nodes being 1: placement within a minipod is worth 0.3 % at most (ibid.
// section 3).
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

// Spread of one family on one level.
struct Spread {
  GroupKind kind = GroupKind::kDp;
  std::uint32_t level = 0;
  std::uint32_t worst = 0;
  std::uint64_t sum = 0;          // over its groups
  std::uint32_t groups = 0;
  std::uint32_t worst_group = 0;  // index in the family
};

struct Score {
  Cost cost;
  std::vector<Spread> spreads;  // by family of the shape, then level
};

// `nodes`: by place, the node that holds it.
Score score(const Cluster& cluster, const Shape& shape, const Objective& objective,
            std::span<const NodeIndex> nodes);

// Spread of one group from the switches it touches.
std::uint32_t spread_of(std::uint32_t switches_touched);

// A kind without weight counts nothing in `worst`; among equals it still is better kept together.
std::int64_t mean_weight(std::int64_t weight);

}  // namespace robustrun::topo
