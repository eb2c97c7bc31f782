#pragma once
// A placement as a self-contained HTML page (`robustrun plan --html`): the tree of switches with
// the ranks below each, the groups that reach beyond each, and the cost of other orders. Pure.

#include <string>

#include "cli/plan/placement.h"

namespace robustrun::cli {

[[nodiscard]] std::string plan_page(const PlacementPlan& plan);

}  // namespace robustrun::cli
