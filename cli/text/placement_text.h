#pragma once
// A placement for people: summary, table and pictures. Pure.

#include <cstddef>
#include <optional>
#include <string>

#include "base/core/result.h"
#include "cli/plan/placement.h"
#include "topo/network/parallel.h"

namespace robustrun::cli {

// What was chosen, against what; two to ten lines.
[[nodiscard]] std::string placement_summary(const PlacementPlan& plan, std::size_t columns);

// A row for each node; of many, one for each switch of the lowest level.
[[nodiscard]] std::string placement_table(const PlacementPlan& plan, std::size_t columns);

struct PictureStyle {
  std::optional<topo::GroupKind> kind;  // whose groups have colours; nullopt: that counts most
  std::size_t columns = 80;
  bool colour = false;
};
// Error: no group of that kind leaves its node.
[[nodiscard]] base::Result<std::string> placement_picture(const PlacementPlan& plan,
                                                          const PictureStyle& style);
[[nodiscard]] base::Result<std::string> placement_svg(const PlacementPlan& plan,
                                                      std::optional<topo::GroupKind> kind);

}  // namespace robustrun::cli
