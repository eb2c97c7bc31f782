#pragma once
// The checks of the nodes before a run starts, and `robustrun check`, which does nothing else.
// Pure.

#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "cli/plan/plan.h"
#include "supervisor/core/types/preflight.h"

namespace robustrun::cli {

// The value of --preflight; auto depends on the number of nodes.
[[nodiscard]] supervisor::PreflightDepth preflight_depth(const Settings& settings,
                                                         const NodesPlan& nodes);

// Turns the plan of a run into that of `robustrun check`: at least the fast checks, on all nodes
// that can be reached. If --run-dir is not given, the caller removes plan.places.run_directory
// afterwards.
void make_it_a_check(const Settings& settings, const Surroundings& around, RunPlan& plan);

}  // namespace robustrun::cli
