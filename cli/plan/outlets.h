#pragma once
// What a run tells other programs: --metrics-port, --metrics-file, --events, --on-incident,
// checked. Pure but for questions to Surroundings.

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "supervisor/outlet_plan.h"

namespace robustrun::cli {

[[nodiscard]] base::Result<supervisor::OutletPlan> plan_outlets(const Settings& settings,
                                                                const Surroundings& around);

// The absolute path of a file that we are to write; its folder must be there.
[[nodiscard]] base::Result<std::string> output_file(const Settings& settings,
                                                    const Surroundings& around, OptionId id);

}  // namespace robustrun::cli
