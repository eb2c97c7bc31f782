#pragma once
// Everything that placement needs during a run. cli/ makes it; the supervisor uses it at the start
// and at every restart. Plain data.

#include <cstdint>
#include <optional>
#include <string>

#include "topo/network/cluster.h"
#include "topo/network/parallel.h"
#include "topo/solve/score.h"
#include "topo/spares/replace.h"

namespace robustrun::supervisor {

struct PlacementRequest {
  // false: nodes keep their order; `cluster` then serves to choose keepers and to show racks.
  bool enabled = false;
  // If hosts are named: the machines of the run, by NodeId. In an open group, where nodes join by
  // themselves: all machines that the topology describes, to be found by name.
  topo::Cluster cluster;
  topo::Parallel parallel;  // not resolved (topo::resolve()), as the number of ranks may change
  topo::Objective objective;
  topo::Rerank rerank = topo::Rerank::kNever;  // --rerank
  topo::MovingCosts costs;
  std::string first;  // name of the node for place 0 (--rank0); empty: any
  // For people, if the nodes' order is already a placement: how it was found, and the cost of the
  // natural order (Cost::worst).
  std::string how;
  std::optional<std::int64_t> natural_cost;
  template <class V>
  void fields(V& v) {
    v(1, "enabled", enabled);
    v(2, "cluster", cluster);
    v(3, "parallel", parallel);
    v(4, "objective", objective);
    v(5, "rerank", rerank);
    v(6, "costs", costs);
    v(7, "first", first);
    v(8, "how", how);
    v(9, "natural_cost", natural_cost);
  }
};

}  // namespace robustrun::supervisor
