#include "cli/plan/placement_gain.h"

#include "topo/network/step_time.h"

namespace robustrun::cli {

NetworkSeconds network_seconds(const PlacementPlan& plan) {
  const auto seconds = [&](const topo::Placement& placement) {
    return topo::step_seconds(plan.cluster, placement.shape, plan.traffic, placement.nodes);
  };
  return {seconds(plan.placement), seconds(plan.natural), seconds(plan.lexicographic)};
}

std::optional<double> gain_percent(const NetworkSeconds& seconds) {
  if (!seconds.known()) return std::nullopt;
  if (seconds.natural <= 0) return 0;
  return 100 * topo::kCommunicationShare * (1 - seconds.ours / seconds.natural);
}

}  // namespace robustrun::cli
