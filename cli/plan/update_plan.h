#pragma once
// The update that a command line of `robustrun update` asks for. Pure but for questions to the
// machine.

#include <string>

#include "base/core/result.h"
#include "cli/options/parser.h"
#include "cli/options/surroundings.h"
#include "supervisor/control/update_request.h"
#include "supervisor/run_dir/version_store.h"
#include "wire/messages/worker_template.h"

namespace robustrun::cli {

struct UpdatePlan {
  supervisor::StagedUpdate update;  // without the code's digest and description
  supervisor::UpdateOrder order;    // without the stage
  std::string code;                 // absolute path of the new code; empty: unchanged
};

// Plans from the command line alone. kInvalidArgument: no run could do it; the text is one
// sentence, to be shown below the usage line.
[[nodiscard]] base::Result<UpdatePlan> plan_update(const UpdateLine& line);

// For a run that starts `workers`: sets plan.code, and in plan.update the script's path relative to
// plan.code. line.code must have a value. Errors are kInvalidArgument, one sentence.
[[nodiscard]] base::Status plan_code(const UpdateLine& line, const wire::WorkerTemplate& workers,
                                     const Surroundings& around, UpdatePlan& plan);

}  // namespace robustrun::cli
