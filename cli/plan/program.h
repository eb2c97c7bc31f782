#pragma once
// What each node runs: interpreter, script and number of workers, checked before anything starts.
//
// Errors are whole sentences: what cannot be done, why, and the remedy. Questions go through
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
  std::string interpreter;  // absolute; empty for an executable or an image
  std::string script;       // as the user wrote it
  std::uint32_t workers = 1;  // 0: each host counts for itself
  std::string count;  // if `workers` is 0: the devices that each host counts
  std::string count_interpreter;  // if `workers` is 0: the interpreter that counts them
  std::vector<std::string> notes;  // for the log, at debug level
};

// Where --nproc-per-node counts devices.
enum class CountOn : std::uint8_t { kThisMachine, kEveryHost };

[[nodiscard]] base::Result<Program> find_program(const Settings& settings,
                                                 const Surroundings& around, CountOn where);

// PYTHON_EXEC, else $VIRTUAL_ENV/bin/python, else python3 or python on PATH. Of PATH, the folder of
// an environment that pipx or uv made for robustrun alone is skipped. A wrapper script (pyenv's) is
// kept as found.
[[nodiscard]] base::Result<std::string> find_interpreter(const Surroundings& around);

// The number of workers by --nproc-per-node: a number, cpu, gpu, xpu, auto or a backend's name.
// `written`: the option as the user wrote it, for errors.
[[nodiscard]] base::Result<std::uint32_t> count_workers(const std::string& value,
                                                        const std::string& written,
                                                        const Surroundings& around,
                                                        const std::string& interpreter);

}  // namespace robustrun::cli
