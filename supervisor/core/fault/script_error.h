#pragma once
// The Python exception that a worker's stderr ends with, and the line of the user's code that
// raised it. Pure.
//
// Reads the traceback that the interpreter prints for an uncaught exception, and its message about
// a module that it cannot run (`-m`). Lines may have torch's prefix "[rank1]: ".

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace robustrun::supervisor {

struct ScriptError {
  std::string exception;  // its first line: "ZeroDivisionError: division by zero"
  // The place is the innermost frame outside Python's library and installed packages. If there is
  // none outside, it is the innermost frame.
  std::string file;  // empty: there was no frame
  std::uint32_t line = 0;
  std::string function;  // empty at module level and for a SyntaxError
};

// The error of the last traceback in `lines`, even if its beginning is missing. None: `lines` show
// neither an exception below a frame nor a missing module.
[[nodiscard]] std::optional<ScriptError> script_error(std::span<const std::string> lines);

// "load_batch (data.py:12)", "train.py:3"; empty without a file. Only the file's name is shown.
[[nodiscard]] std::string place_in_words(const ScriptError& error);

}  // namespace robustrun::supervisor
