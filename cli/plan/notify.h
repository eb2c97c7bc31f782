#pragma once
// --notify and --notify-stalled, checked. Pure but for questions to Surroundings.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "supervisor/outlet_plan.h"

namespace robustrun::cli {

// Errors never show a URL, which may be a secret. Mail without sendmail(8) on this machine is left
// out with a warning.
[[nodiscard]] base::Result<supervisor::NotifyPlan> plan_notify(const Settings& settings,
                                                               const Surroundings& around,
                                                               std::vector<std::string>& warnings);

}  // namespace robustrun::cli
