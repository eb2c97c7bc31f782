#pragma once
// What `robustrun submit` was asked for, as a batch job. Pure but for questions to
// Surroundings::machine.

#include "base/core/result.h"
#include "cli/options/parser.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "cli/submit/batch_script.h"

namespace robustrun::cli {

// `settings` are merged from `line`. The job gets the options of the command line; what the
// environment says it inherits, and a file of --config is read again when it runs. Errors are
// whole sentences for the user (kInvalidArgument, kNotFound).
[[nodiscard]] base::Result<BatchJob> plan_submit(const RunLine& line, const Settings& settings,
                                                 const Surroundings& around);

// kInvalidArgument when an option for submit alone is on the command line of another run.
[[nodiscard]] base::Status check_subcommand(const RunLine& line, Group own);

}  // namespace robustrun::cli
