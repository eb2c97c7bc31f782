#pragma once
// What each node runs: interpreter, script and how many workers, checked before anything starts.
//
// Errors are whole sentences: what cannot be done, why, and what to do. Questions go through
// Surroundings::machine.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "cli/settings.h"
#include "cli/surroundings.h"
#include "wire/messages.h"

namespace robustrun::cli {

struct Program {
  wire::LaunchMode mode = wire::LaunchMode::kScript;
  std::string interpreter;  // absolute; empty for an executable
  std::string script;       // as the user wrote it
  std::uint32_t workers = 1;
  std::vector<std::string> notes;  // for the log, at debug level
};

[[nodiscard]] base::Result<Program> find_program(const Settings& settings,
                                                 const Surroundings& around);

// PYTHON_EXEC, else $VIRTUAL_ENV/bin/python, else python3 or python on PATH. A wrapper script
// (pyenv's) is kept as found.
[[nodiscard]] base::Result<std::string> find_interpreter(const Surroundings& around);

// --nproc-per-node: a number, cpu, gpu, xpu, auto or a backend's name.
[[nodiscard]] base::Result<std::uint32_t> count_workers(const Settings& settings,
                                                        const Surroundings& around,
                                                        const std::string& interpreter);

}  // namespace robustrun::cli
