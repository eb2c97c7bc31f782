#pragma once
// Parts of a placement in words, for text and for pages. Pure.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/plan/placement.h"

namespace robustrun::cli {

// `millionths` as a decimal fraction: "0.002"
[[nodiscard]] std::string units(std::int64_t millionths);
// Whether the level has more than one switch.
[[nodiscard]] bool has_choice(const topo::Level& level);
// The number of ranks.
[[nodiscard]] std::uint64_t world_of(const topo::Placement& placement);
// "tp=8,dp=16"
[[nodiscard]] std::string sizes_text(const topo::Parallel& parallel);
// "20 leaf, 3 minipod"
[[nodiscard]] std::string levels_text(const topo::Cluster& cluster);
// "dp 1, pp 0.5"
[[nodiscard]] std::string weights_text(const PlacementPlan& plan);
// "closed form, optimal (proven)"
[[nodiscard]] std::string quality_text(const topo::Placement& placement);
// Nodes that hold no ranks and are not spares.
[[nodiscard]] std::vector<topo::NodeIndex> unused_of(const PlacementPlan& plan);

}  // namespace robustrun::cli
