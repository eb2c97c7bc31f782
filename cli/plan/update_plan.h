#pragma once
// What a line of `robustrun update` asks for. Pure, but for questions to the machine.

#include <string>

#include "base/core/result.h"
#include "cli/options/parser.h"
#include "cli/options/surroundings.h"
#include "supervisor/control/update_request.h"
#include "supervisor/run_dir/version_store.h"
#include "wire/messages/worker_template.h"

namespace robustrun::cli {

struct UpdatePlan {
  supervisor::StagedUpdate update;  // all but the code's digest, and what is said of the code
  supervisor::UpdateOrder order;    // all but the stage
  std::string code;                 // folder, absolute; empty: the code stays
};

// Of the line alone: what no run could do. kInvalidArgument, one sentence for under the usage line.
[[nodiscard]] base::Result<UpdatePlan> plan_update(const UpdateLine& line);

// The folder that has the new code, and where in it the script is that `workers` start.
// kInvalidArgument, a sentence.
[[nodiscard]] base::Status plan_code(const UpdateLine& line, const wire::WorkerTemplate& workers,
                                     const Surroundings& around, UpdatePlan& plan);

}  // namespace robustrun::cli
