#pragma once
// Makes a batch job of a line of `robustrun submit`. Pure but for questions to
// Surroundings::machine.

#include "base/core/result.h"
#include "cli/options/parser.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "cli/submit/batch_script.h"

namespace robustrun::cli {

// `settings` are merged from `line`. The job's command gets the options of the command line; it
// inherits the environment, and reads the file of --config when it runs. Errors are whole sentences
// for the user (kInvalidArgument, kNotFound).
[[nodiscard]] base::Result<BatchJob> plan_submit(const RunLine& line, const Settings& settings,
                                                 const Surroundings& around);

// The subcommand that alone takes the options of `group`; nullptr: no subcommand does.
[[nodiscard]] const char* subcommand_of(Group group);

// kInvalidArgument if `line` has an option that belongs to another subcommand than `own`; k8s may
// have those of submit.
[[nodiscard]] base::Status check_subcommand(const RunLine& line, Group own);

}  // namespace robustrun::cli
