#pragma once
// Outlets for other programs, checked: --metrics-port, --metrics-file, --events, --on-incident,
// --on-bad-node. Pure but for questions to Surroundings.

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "supervisor/outlet_plan.h"

namespace robustrun::cli {

[[nodiscard]] base::Result<supervisor::OutletPlan> plan_outlets(const Settings& settings,
                                                                const Surroundings& around);

// The absolute path of an output file; its folder must exist.
[[nodiscard]] base::Result<std::string> output_file(const Settings& settings,
                                                    const Surroundings& around, OptionId id);

}  // namespace robustrun::cli
