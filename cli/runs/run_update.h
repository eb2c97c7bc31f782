#pragma once
// Orders an update (`robustrun update`) from a run's supervisor: stages the new code beside the
// run's versions, and asks. Blocks.

#include <string>

#include "base/core/result.h"
#include "cli/options/parser.h"
#include "cli/options/surroundings.h"
#include "cli/plan/update_plan.h"

namespace robustrun::cli {

struct UpdateOutcome {
  bool taken = false;  // false: the run cannot be reached, or refuses it
  std::string version;  // its number, if taken
  std::string text;  // what becomes of it, or why it was not taken
};
// `plan`: of `line`. Errors: bad input, or the run's files cannot be used.
[[nodiscard]] base::Result<UpdateOutcome> update_run(const std::string& directory,
                                                     const UpdateLine& line, UpdatePlan plan,
                                                     const Surroundings& around);

}  // namespace robustrun::cli
