#pragma once
// --accelerate-config: what `accelerate launch --config_file FILE` would set for the workers.
//
// accelerate itself computes the values, in one process of the workers' interpreter
// (python/robustrun/_boot/accelerate.py). Asks through Surroundings::machine; errors are whole
// sentences for the user.

#include <string>
#include <vector>

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {

struct AcceleratePlan {
  std::vector<std::string> environment;  // NAME=VALUE, replaces the caller's variables
  std::vector<std::string> warnings;
};

// Empty without the option. Sets options in *settings that the user did not give, from the file:
// the workers per machine; and, unless the user or Slurm names the machines, their number, this
// machine's number, and address and port of the first machine.
[[nodiscard]] base::Result<AcceleratePlan> plan_accelerate(const Surroundings& around,
                                                           Settings* settings);

// Replaces variables of `environment`, or appends them.
void set_variables(const std::vector<std::string>& variables,
                   std::vector<std::string>& environment);

}  // namespace robustrun::cli
