#pragma once
// Which of the named hosts work, and in which order, by what is known of the network between them.
// Asks what the network is like through cli/placement/cluster_source.h; pure otherwise. Errors are
// whole sentences for the user, exit code 2.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "cli/nodes/nodes.h"
#include "cli/options/settings.h"
#include "supervisor/placement_request.h"
#include "topo/place.h"

namespace robustrun::cli {

struct PlacementPlan {
  bool chosen = false;        // by the network; false: the hosts keep their natural order
  // All hosts that are named, in natural order (--rank0 first): NodeIndex counts them.
  topo::Cluster cluster;
  topo::Parallel parallel;    // as asked for; placement.shape.parallel is resolved
  topo::Objective objective;
  std::string weights_from;  // where the weights of kinds come from, for people
  topo::Traffic traffic;      // 0: not known
  std::uint32_t places = 0;
  std::uint32_t spares = 0;
  std::optional<topo::NodeIndex> first;  // --rank0
  std::uint32_t slots_assumed = 0;  // where every host counts for itself; 0: all are known
  topo::Placement placement;  // what the run gets
  topo::Placement natural;    // what it would get by numbers in names, and by their letters
  topo::Placement lexicographic;
  supervisor::PlacementRequest request;

  // What `placement` solves.
  [[nodiscard]] topo::Problem problem() const;
};

// Brings `nodes.hosts` into their order, spares last, and chooses among those that are `unused`.
// `workers`: on a host that does not say its own; 0: it counts for itself. Without hosts (a
// rendezvous, this machine alone) nobody is placed yet, and of `placement` nothing is set; those
// who come to a rendezvous are placed by `request`.
[[nodiscard]] base::Result<PlacementPlan> plan_placement(const Settings& settings,
                                                         const Surroundings& around,
                                                         std::uint32_t workers, NodesPlan& nodes);

// "2 hosts are not used: n7, n8"; empty: all are.
[[nodiscard]] std::string unused_hosts(const NodesPlan& nodes);

}  // namespace robustrun::cli
