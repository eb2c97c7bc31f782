#pragma once
// A placement as text: summary, table and pictures. Pure.

#include <cstddef>
#include <optional>
#include <string>

#include "base/core/result.h"
#include "cli/plan/placement.h"
#include "topo/network/parallel.h"

namespace robustrun::cli {

// The placement in some lines; if the network decided it, also a comparison with other orders.
[[nodiscard]] std::string placement_summary(const PlacementPlan& plan, std::size_t columns);

// One row per node, or per switch of the lowest level if there are many nodes.
[[nodiscard]] std::string placement_table(const PlacementPlan& plan, std::size_t columns);

struct PictureStyle {
  std::optional<topo::GroupKind> kind;  // groups to colour; nullopt: those of most weight
  std::size_t columns = 80;
  bool colour = false;
};
// Errors: no group of that kind spans nodes.
[[nodiscard]] base::Result<std::string> placement_picture(const PlacementPlan& plan,
                                                          const PictureStyle& style);
[[nodiscard]] base::Result<std::string> placement_svg(const PlacementPlan& plan,
                                                      std::optional<topo::GroupKind> kind);

}  // namespace robustrun::cli
