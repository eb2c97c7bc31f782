#pragma once
// Chooses the nodes of a job and their order. Pure and deterministic: no clock, no randomness.
//
// Choice and order are one problem: take as many of `candidates` as there are places, with the
// least cost (solve/score.h). Tries to fill the tree with whole groups (the closed form, where its
// premise holds), then with bands of groups, and for small jobs all placements. Every result comes
// with a lower bound on the cost of any placement (solve/bound.h).

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
  kHeuristic,  // the best of several; see gap_percent()
};
std::string_view to_string(Method method);

struct Problem {
  const Cluster* cluster = nullptr;
  Parallel parallel;
  Objective objective;
  std::vector<NodeIndex> candidates;  // each once; ties are broken by index
  std::uint32_t places = 0;  // how many to choose
  std::uint32_t spares = 0;  // number of further nodes to keep
  // By place: its former holder (kNoNode: none), or empty. If all former holders are candidates,
  // with the same slots as the nodes of the placement found, and that placement does not cost less,
  // the result is `former`. Otherwise `former` has no influence.
  std::vector<NodeIndex> former;
};

struct Placement {
  std::vector<NodeIndex> nodes;  // by place (GROUP_RANK)
  std::vector<NodeIndex> spares;  // most useful first (spares/spares.h)
  Shape shape;
  Score score;
  Cost bound;  // lower bound of Cost::worst; Cost::mean has no bound and is 0 here
  Method method = Method::kHeuristic;
  std::string how;  // the method in words
};

// Errors: fewer candidates than places, or slots that do not match the parallel sizes.
base::Result<Placement> place(const Problem& problem);

// Upper limit of the distance to the optimum, in %; 0: proven optimal. 100 if the bound is 0 and
// the cost is not.
double gap_percent(const Placement& placement);

// The baseline: the first candidates, in their order.
base::Result<Placement> place_in_order(const Problem& problem);

}  // namespace robustrun::topo
