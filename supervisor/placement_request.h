#pragma once
// What placement has to know for as long as a run lasts: cli/ makes it, the supervisor solves with
// it again at every restart. Plain data.

#include <string>

#include "topo/cluster.h"
#include "topo/parallel.h"
#include "topo/replace.h"
#include "topo/score.h"

namespace robustrun::supervisor {

struct PlacementRequest {
  bool enabled = false;  // false: nodes keep the order they have, and nothing else is set
  // The machines of the run. Of named hosts those alone, by NodeId; of an open group all that are
  // described, to be found by name.
  topo::Cluster cluster;
  topo::Parallel parallel;  // not resolved: the world may change
  topo::Objective objective;
  topo::Rerank rerank = topo::Rerank::kNever;  // --rerank
  topo::MovingCosts costs;
  std::string first;  // who has place 0 at the start (--rank0); empty: anybody
  template <class V>
  void fields(V& v) {
    v(1, "enabled", enabled);
    v(2, "cluster", cluster);
    v(3, "parallel", parallel);
    v(4, "objective", objective);
    v(5, "rerank", rerank);
    v(6, "costs", costs);
    v(7, "first", first);
  }
};

}  // namespace robustrun::supervisor
