#pragma once
// Stages the new code beside a run's versions, then asks the run's supervisor for the update
// (`robustrun update`). Blocks.

#include <string>

#include "base/core/result.h"
#include "cli/options/parser.h"
#include "cli/options/surroundings.h"
#include "cli/plan/update_plan.h"

namespace robustrun::cli {

struct UpdateOutcome {
  bool taken = false;  // false: the run cannot be reached, or refuses it
  std::string version;  // the number of the new version, if taken
  std::string text;  // what happens next, or why the update was not taken
};
// `plan`: made from `line`. Errors: bad input, or the run's files cannot be used.
[[nodiscard]] base::Result<UpdateOutcome> update_run(const std::string& directory,
                                                     const UpdateLine& line, UpdatePlan plan,
                                                     const Surroundings& around);

}  // namespace robustrun::cli
