#pragma once
// How the nodes of a run are checked before it starts, and how a run becomes a check alone. Pure.

#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "cli/plan/plan.h"
#include "supervisor/core/types/preflight.h"

namespace robustrun::cli {

// --preflight, where auto depends on the number of nodes.
[[nodiscard]] supervisor::PreflightDepth preflight_depth(const Settings& settings,
                                                         const NodesPlan& nodes);

// `plan` (of a run that would do) for `robustrun check`: fast unless more was asked for, of
// whatever nodes can be had. Nothing is left behind but with --run-dir.
void make_it_a_check(const Settings& settings, const Surroundings& around, RunPlan& plan);

}  // namespace robustrun::cli
