#pragma once
// A placement as a self-contained HTML page (`robustrun plan --html`): the tree of switches with
// who sits where, what crosses which switch, and what other orders would cost. Pure.

#include <string>

#include "cli/plan/placement.h"

namespace robustrun::cli {

[[nodiscard]] std::string plan_page(const PlacementPlan& plan);

}  // namespace robustrun::cli
