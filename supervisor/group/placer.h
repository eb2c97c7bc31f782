#pragma once
// Answers the core's SolvePlacement with what is known of the network. Pure but for what it
// remembers of nodes' sizes; the driver lets it work on the blocking pool, in one lane.
//
// Nodes are found by their names. Whoever the description of the network does not have, cannot be
// placed: then the answer has no members and says so, and the core does without.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "supervisor/core/types/placement.h"
#include "supervisor/placement_request.h"
#include "topo/place.h"

namespace robustrun::supervisor {

// What the core must know of `request`.
[[nodiscard]] PlacementUse placement_use(const PlacementRequest& request);

class Placer {
 public:
  explicit Placer(PlacementRequest request);

  // The first group is placed freely (topo/place.h), later ones as the user allows
  // (topo/spares/replace.h). Never fails: see above. O(n log n) of the nodes beside what topo/
  // takes.
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
  std::string broken_;   // why nothing can be placed; empty: it can
  std::vector<topo::NodeIndex> by_name_;
  std::vector<base::NodeId> node_at_;   // by index, of this question's candidates
};

}  // namespace robustrun::supervisor
