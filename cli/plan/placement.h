#pragma once
// Which of the named hosts hold ranks, and in which order, according to the network between them.
// Reads the network through cli/placement/cluster_source.h; pure otherwise. Errors are whole
// sentences for the user, exit code 2.

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
  bool chosen = false;        // false: the hosts keep their natural order
  // The named hosts, in natural order (--rank0 first; repeat offenders last, if not all hosts hold
  // ranks); for a rendezvous, the nodes of --topology. NodeIndex indexes them.
  topo::Cluster cluster;
  topo::Parallel parallel;  // as given; placement.shape.parallel is resolved
  topo::Objective objective;
  std::string weights_from;  // origin of the weights, for messages
  topo::Traffic traffic;  // 0: unknown
  std::uint32_t places = 0;
  std::uint32_t spares = 0;
  std::optional<topo::NodeIndex> first;  // --rank0
  // Workers assumed on each host that finds its own number only at the start; 0: all are known.
  std::uint32_t slots_assumed = 0;
  topo::Placement placement;  // what the run uses
  topo::Placement natural;  // hosts in the order of `cluster` (n2 before n10)
  topo::Placement lexicographic;  // hosts in alphabetical order (n10 before n2)
  supervisor::PlacementRequest request;

  // The problem that `placement` solves.
  [[nodiscard]] topo::Problem problem() const;
};

// Orders `nodes.hosts`, spares last, choosing among `nodes.unused` as well. `workers`: for hosts
// that name no number of their own; 0: such a host finds its number at the start. Without hosts (a
// rendezvous, or this machine alone) `placement` stays empty; `request` serves to place nodes that
// join a rendezvous.
[[nodiscard]] base::Result<PlacementPlan> plan_placement(const Settings& settings,
                                                         const Surroundings& around,
                                                         std::uint32_t workers, NodesPlan& nodes);

// "2 hosts are not used: n7, n8"; empty if all are used.
[[nodiscard]] std::string unused_hosts(const NodesPlan& nodes);

}  // namespace robustrun::cli
