#pragma once
// How much better a placement is than others of the same hosts, in time. Pure.

#include <optional>

#include "cli/plan/placement.h"

namespace robustrun::cli {

// Seconds on the network per step; all 0 when nothing is known of bandwidths, or of traffic.
struct NetworkSeconds {
  double ours = 0, natural = 0, lexicographic = 0;
  [[nodiscard]] bool known() const { return natural > 0 || lexicographic > 0 || ours > 0; }
};
[[nodiscard]] NetworkSeconds network_seconds(const PlacementPlan& plan);

// In % of a step against natural order, if communication takes topo::kCommunicationShare of it
// there; nullopt: nothing is known.
[[nodiscard]] std::optional<double> gain_percent(const NetworkSeconds& seconds);

}  // namespace robustrun::cli
