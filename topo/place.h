#pragma once
// Chooses the nodes of a job and their order. Pure and deterministic: no clock, no randomness.
//
// Choice and order are one problem: give each place of the job (one node's share of the ranks,
// network/shape.h) one of the candidates, at the least cost (solve/score.h). Tries to fill the tree
// with whole groups (the closed form of solve/fill.h), then with bands of groups (solve/bands.h),
// and for small jobs tries all placements. The result of place() comes with a lower bound on the
// cost of any placement (solve/bound.h).

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
  kOneSwitch,  // all places fit below one switch: optimal
  kClosedForm,  // found without exhaustive search, and the cost is the bound: optimal
  kExact,  // exhaustive search: optimal
  kHeuristic,  // the best one found; see gap_percent()
};
std::string_view to_string(Method method);

struct Problem {
  const Cluster* cluster = nullptr;
  Parallel parallel;
  Objective objective;
  std::vector<NodeIndex> candidates;  // each once; ties are broken by index
  std::uint32_t places = 0;  // how many to choose
  std::uint32_t spares = 0;  // number of further nodes to keep
  // By place: the node that held it before (kNoNode: none); may be empty. `former` is the result if
  // all its nodes are candidates, have the same slots as the nodes of the placement found, and cost
  // no more. Otherwise it has no influence.
  std::vector<NodeIndex> former;
};

struct Placement {
  std::vector<NodeIndex> nodes;  // by place (GROUP_RANK)
  std::vector<NodeIndex> spares;  // the most useful first (spares/spares.h)
  Shape shape;
  Score score;
  Cost bound;  // lower bound of Cost::worst; Cost::mean has no bound and is 0 here
  Method method = Method::kHeuristic;
  std::string how;  // the method in words
};

// Errors: fewer candidates than places, or slots that do not match the parallel sizes.
base::Result<Placement> place(const Problem& problem);

// By how many percent of the bound the cost is above it: an upper limit of the distance to the
// optimum. 0: proven optimal. 100 if the bound is 0 and the cost is not.
double gap_percent(const Placement& placement);

// A placement to compare with: the first candidates, in their order.
base::Result<Placement> place_in_order(const Problem& problem);

}  // namespace robustrun::topo
