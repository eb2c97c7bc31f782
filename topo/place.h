#pragma once
// Which nodes run a job, and in which order. Pure and deterministic; nothing here takes time, reads
// a clock or draws a number.
//
// Choice and order are one problem: from `candidates` take as many as there are places, so that the
// cost (score.h) is least. Fillings of the tree by whole groups are tried, which is the closed form
// where its premise holds, then bands of groups, and where the job is small all there is. Every
// result comes with a lower bound that no placement can go below (bound.h).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/result.h"
#include "topo/network/cluster.h"
#include "topo/network/shape.h"
#include "topo/solve/score.h"

namespace robustrun::topo {

enum class Method : std::uint8_t {
  kOneSwitch,  // all fit below one switch: nothing can be better
  kClosedForm,  // whole groups fill switches one after another, and the bound is met
  kExact,  // all placements were looked at, or proven no better
  kHeuristic,  // best of several; see the gap
};
std::string_view to_string(Method method);

struct Problem {
  const Cluster* cluster = nullptr;
  Parallel parallel;
  Objective objective;
  std::vector<NodeIndex> candidates;  // each once; of equals, the one with the least index
  std::uint32_t places = 0;  // how many to choose
  std::uint32_t spares = 0;  // how many of the others to keep
  // By place: who held it. Empty: nobody. Of equally good placements the one that moves fewest.
  std::vector<NodeIndex> former;
};

struct Placement {
  std::vector<NodeIndex> nodes;  // by place (GROUP_RANK)
  std::vector<NodeIndex> spares;  // the most useful first (spares.h)
  Shape shape;
  Score score;
  Cost bound;  // no placement costs less; `mean` is 0: not bounded
  Method method = Method::kHeuristic;
  std::string how;  // for people: what was filled, by what, in which order
};

// Errors: fewer candidates than places, slots that do not fit the parallel sizes.
base::Result<Placement> place(const Problem& problem);

// How far the result may be from the best, in %: 0 if it is proven to be the best.
double gap_percent(const Placement& placement);

// What others would do with the same candidates: the first ones, in the order given.
base::Result<Placement> place_in_order(const Problem& problem);

}  // namespace robustrun::topo
