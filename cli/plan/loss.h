#pragma once
// `robustrun plan --lose NODE`: what a run would do if a node of its placement were lost. Pure.

#include <string>

#include "base/core/clock.h"
#include "base/core/result.h"
#include "cli/plan/placement.h"
#include "topo/spares/replace.h"

namespace robustrun::cli {

struct Loss {
  topo::NodeIndex lost = topo::kNoNode;
  topo::Replacement replacement;
  base::Nanos solving{};  // how long topo::replace() took
};

// A fitting spare, if there is one, takes the place of `lost`. kInvalidArgument: `lost` has no
// place. Other errors are those of topo::replace(). `clock` measures the solver.
[[nodiscard]] base::Result<Loss> plan_loss(const PlacementPlan& plan, topo::NodeIndex lost,
                                           const base::Clock& clock);

[[nodiscard]] std::string loss_text(const PlacementPlan& plan, const Loss& loss);
[[nodiscard]] std::string loss_json(const PlacementPlan& plan, const Loss& loss);

}  // namespace robustrun::cli
