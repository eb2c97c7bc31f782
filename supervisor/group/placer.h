#pragma once
// Answers the core's SolvePlacement from the network's topology. Pure except that it remembers how
// many workers each node has; the driver runs it on the blocking pool, in one lane.
//
// Nodes are found by their names. If the topology lacks a node, nothing can be placed: the answer
// has no members and gives the reason, and the core goes on without a placement.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "supervisor/core/types/placement.h"
#include "supervisor/placement_request.h"
#include "topo/place.h"

namespace robustrun::supervisor {

// The part of `request` that the core needs.
[[nodiscard]] PlacementUse placement_use(const PlacementRequest& request);

class Placer {
 public:
  explicit Placer(PlacementRequest request);

  // The first group is placed freely (topo/place.h), later ones as the user allows
  // (topo/spares/replace.h). Never fails: see above. Takes O(n log n) for n nodes, besides the time
  // in topo/.
  PlacementSolved solve(const SolvePlacement& question);

 private:
  base::Result<PlacementSolved> try_to(const SolvePlacement& question);
  base::Result<topo::Problem> problem_of(const SolvePlacement& question);
  base::Result<topo::Placement> place_freely(const topo::Problem& problem) const;
  PlacementSolved place_first(const topo::Placement& placement, const topo::Problem& problem) const;
  base::Status take_members(const std::vector<topo::NodeIndex>& nodes,
                            PlacementSolved& solved) const;
  [[nodiscard]] topo::NodeIndex find(const PlacementNode& node) const;
  [[nodiscard]] std::string best_in_words(const topo::Placement& placement) const;

  PlacementRequest request_;
  std::string broken_;  // why no placement is possible; empty: placements are possible
  std::vector<topo::NodeIndex> by_name_;
  std::vector<base::NodeId> node_at_;  // by index, of this question's candidates
};

}  // namespace robustrun::supervisor
