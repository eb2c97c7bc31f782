#pragma once
// What each node runs: interpreter, script and how many workers, checked before anything starts.
//
// Errors are whole sentences: what cannot be done, why, and what to do. Questions go through
// Surroundings::machine.

#include <cstdint>
#include <string>
#include <vector>

#include "base/core/result.h"
#include "cli/options/settings.h"
#include "cli/options/surroundings.h"
#include "wire/messages/messages.h"

namespace robustrun::cli {

struct Program {
  wire::LaunchMode mode = wire::LaunchMode::kScript;
  std::string interpreter;  // absolute; empty for an executable, and for one in an image
  std::string script;       // as the user wrote it
  std::uint32_t workers = 1;  // 0: every host counts for itself
  std::string count;  // then: what, and by which interpreter
  std::string count_interpreter;
  std::vector<std::string> notes;  // for the log, at debug level
};

// Whose devices --nproc-per-node means where it is no number.
enum class CountOn : std::uint8_t { kThisMachine, kEveryHost };

[[nodiscard]] base::Result<Program> find_program(const Settings& settings,
                                                 const Surroundings& around, CountOn where);

// PYTHON_EXEC, else $VIRTUAL_ENV/bin/python, else python3 or python on PATH, where the environment
// that a tool's installer (pipx, uv) made for robustrun alone does not count. A wrapper script
// (pyenv's) is kept as found.
[[nodiscard]] base::Result<std::string> find_interpreter(const Surroundings& around);

// What --nproc-per-node means here: a number, cpu, gpu, xpu, auto or a backend's name. `written` is
// how the user put it, for errors.
[[nodiscard]] base::Result<std::uint32_t> count_workers(const std::string& value,
                                                        const std::string& written,
                                                        const Surroundings& around,
                                                        const std::string& interpreter);

}  // namespace robustrun::cli
