#pragma once
// The Python exception that a worker's stderr ends with, and the line of the user's code that
// raised it. Pure.
//
// Reads what the interpreter prints for an exception that nothing caught (Python's traceback
// module), and for a module that it cannot run (`-m`); also behind the prefix "[rank1]: " that
// torch puts before each line.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace robustrun::supervisor {

struct ScriptError {
  std::string exception;  // "ZeroDivisionError: division by zero"; its first line
  // Of the innermost frame outside Python's library and installed packages, or of the innermost
  // frame where all are inside.
  std::string file;  // empty: there was no frame
  std::uint32_t line = 0;
  std::string function;  // empty at module level and for a SyntaxError
};

// Of the last traceback in `lines`, which may begin in the middle of it. None: they show no
// exception below a frame.
[[nodiscard]] std::optional<ScriptError> script_error(std::span<const std::string> lines);

// "load_batch (data.py:12)", "train.py:3"; empty without a file. Only the file's name is shown.
[[nodiscard]] std::string place_in_words(const ScriptError& error);

}  // namespace robustrun::supervisor
