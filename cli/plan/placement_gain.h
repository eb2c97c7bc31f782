#pragma once
// How much time a placement saves against others of the same hosts. Pure.

#include <optional>

#include "cli/plan/placement.h"

namespace robustrun::cli {

// Network time of a step in seconds; all 0 if bandwidths or traffic are unknown.
struct NetworkSeconds {
  double ours = 0, natural = 0, lexicographic = 0;
  [[nodiscard]] bool known() const { return natural > 0 || lexicographic > 0 || ours > 0; }
};
[[nodiscard]] NetworkSeconds network_seconds(const PlacementPlan& plan);

// The time saved against natural order, in % of a step, if communication takes
// topo::kCommunicationShare of the step; nullopt: unknown.
[[nodiscard]] std::optional<double> gain_percent(const NetworkSeconds& seconds);

}  // namespace robustrun::cli
