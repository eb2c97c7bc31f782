#pragma once
// A placement as one JSON object (docs/formats/plan.md). Pure.

#include <string>

#include "base/core/clock.h"
#include "cli/plan/placement.h"

namespace robustrun::cli {

// `solving`: the time that topo::place() took.
[[nodiscard]] std::string placement_json(const PlacementPlan& plan, base::Nanos solving);

}  // namespace robustrun::cli
