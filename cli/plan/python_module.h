#pragma once
// Runs modules of our Python package that do a subcommand's work, with the user's interpreter.

#include <span>
#include <string>

#include "base/core/result.h"
#include "cli/options/surroundings.h"

namespace robustrun::cli {

// Runs `interpreter -m module arguments…` with our package first in PYTHONPATH, without standard
// input, with this process's outputs and in its session, so that Ctrl-C reaches it, too. Blocks;
// returns the module's exit code as a shell gives it. Errors: there is no interpreter, or it cannot
// be started.
[[nodiscard]] base::Result<int> run_python_module(const std::string& module,
                                                  std::span<const std::string> arguments,
                                                  const Surroundings& around);

}  // namespace robustrun::cli
